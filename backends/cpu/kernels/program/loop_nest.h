// The loop nest of a program's phase (infini/loop_nest.h), with the code of its stages.
#pragma once

#include <infini/loop_nest.h>

#include <vector>

#include "kernel.h"
#include "program/functor.h"

namespace infini::cpu::program {

using namespace infini::program;  // NOLINT: the CPU's engine is one of programs

constexpr size_t kSplatBytes = 64;  // the widest vector

struct NativeFold;

struct Stage : infini::program::Stage {
    const Functor *functor = nullptr;
    BlockFunction compute = nullptr;
    FoldFunction fold = nullptr;         // evaluates and folds in one go
    const NativeFold *native = nullptr;  // folds its input as it is in memory
    int64_t block = 0;                   // elements in a call
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
