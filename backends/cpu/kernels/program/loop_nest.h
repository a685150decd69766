// The loop nest of a program's phase (infini/loop_nest.h), with the code of its stages.
#pragma once

#include <infini/loop_nest.h>

#include <vector>

#include "kernel.h"
#include "program/functor.h"

namespace infini::cpu::program {

using namespace infini::program;  // NOLINT: this is the CPU's program engine

constexpr size_t kSplatBytes = 64;  // the widest vector

struct NativeFold;

struct Stage : infini::program::Stage {
    const Functor *functor = nullptr;
    BlockFunction compute = nullptr;
    FoldFunction fold = nullptr;         // evaluates and folds in one call
    const NativeFold *native = nullptr;  // folds its input in its storage type
    int64_t block = 0;                   // elements per call
};

using LoopNest = LoopNestOf<Stage>;

LoopNest make_loop_nest(const Operation &operation, const InfiniProgram &program, int phase,
                        ValueType type, const std::vector<Spilled> &spilled);

const Functor *find_functor(const char *name);

// Calls f with a value of the type.
template <class F>
auto with_type(ValueType type, F &&f) {
    switch (type) {
        case kFloat:
            return f(float{});
        case kDouble:
            return f(double{});
        case kInt64:
            return f(int64_t{});
        default:
            return f(uint64_t{});
    }
}

}  // namespace infini::cpu::program
