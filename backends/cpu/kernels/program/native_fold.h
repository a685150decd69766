// Folds of elements as they are in memory, without a converted copy: the maximum and minimum of
// integers, any and all on their bits, and the folds of 16-bit floats, which are converted in
// registers.
#pragma once

#include <infini/program.h>

#include "program/loop_nest.h"

namespace infini::cpu::program {

struct NativeFold {
    int bytes, state_bytes;  // of an element, and of the state of a fold
    // state[r] = the fold of the n elements at x + r * pitch (in elements).
    void (*rows)(void *state, const void *x, ptrdiff_t pitch, size_t rows, size_t n);
    // Combines state[i] with other[i], or with the elements x[i]; null: only along rows.
    void (*join)(void *state, const void *other, size_t n);
    void (*into)(void *state, const void *x, size_t n);
    // Fills states with the identity of the fold; converts states to values of a nest's type.
    void (*start)(void *state, size_t n);
    void (*finish)(ValueType type, void *values, const void *state, size_t n);
};

// The native fold of a stage that folds its only input, in a nest of a type; null if there is none.
const NativeFold *native_fold(const Stage &stage, const InfiniExpression &expression,
                              ValueType type, int dtype);

}  // namespace infini::cpu::program
