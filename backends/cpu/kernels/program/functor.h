// The functors of programs as the engine calls them: loops over blocks, by the type they compute
// in.
#pragma once

#include <infini/loop_nest.h>

#include <cstddef>
#include <cstdint>

namespace infini::cpu {

// out[k][i] = the functor of in[j][i * step[j]], for i < n. A step is 1, or 0 when all elements
// share the value: `in` then holds it as often as a vector has lanes. An output may be an input.
using BlockFunction = void (*)(const void *const *in, const ptrdiff_t *step, void *const *out,
                               size_t n);

// The fold of the functor's only output over i < n, as one value at `result`.
using FoldFunction = void (*)(const void *const *in, const ptrdiff_t *step, void *result, size_t n);

using infini::program::kValueTypes;

struct Functor {
    const char *name;
    int inputs, outputs;
    int cost;  // roughly, in operations for an element
    BlockFunction compute[kValueTypes];
    // The same in float, with tensors of 16 bits converted in registers; null: not compiled. Inputs
    // that are no tensors are floats.
    BlockFunction f16, bf16;
    // InfiniFold that is evaluated in one go with the functor; 0: none. Null where not compiled.
    int fold;
    FoldFunction folded[kValueTypes];
};

struct FunctorList {
    const Functor *functors;
    size_t count;
};

// Generated: all there are.
extern const FunctorList *const kFunctorLists[];
extern const size_t kFunctorListCount;

}  // namespace infini::cpu
