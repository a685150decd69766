// The layout of a program's phase (infini/layout.h), with the code of its stages.
#pragma once

#include <infini/layout.h>

#include <vector>

#include "kernel.h"
#include "program/functor.h"

namespace infini::cpu::program {

using namespace infini::program;  // NOLINT: the CPU's engine is one of programs

constexpr size_t kSplatBytes = 64;  // the widest vector

struct Step : infini::program::Step {
    const Functor *functor = nullptr;
    BlockFunction compute = nullptr;
    FoldFunction fold = nullptr;  // evaluates and folds in one go
    int64_t block = 0;            // elements in a call
};

using Layout = LayoutOf<Step>;

Layout lay_out(const Operation &operation, const InfiniProgram &program, int phase, ValueType type,
               const std::vector<Left> &left);

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
