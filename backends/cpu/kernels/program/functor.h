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

// Storage types of tensors that a loop of its own reads and writes as they are.
enum Storage { kF16, kBf16, kI32, kI8, kU8, kBoolean, kF32, kI64, kStorages };

// Of a dtype; -1: none of them.
inline int storage_of(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_F16:
            return kF16;
        case INFINI_DTYPE_BF16:
            return kBf16;
        case INFINI_DTYPE_F32:
            return kF32;
        case INFINI_DTYPE_I64:
            return kI64;
        case INFINI_DTYPE_I32:
            return kI32;
        case INFINI_DTYPE_I8:
            return kI8;
        case INFINI_DTYPE_U8:
            return kU8;
        case INFINI_DTYPE_BOOL:
            return kBoolean;
        default:
            return -1;
    }
}

struct Functor {
    const char *name;
    int inputs, outputs;
    int cost;  // roughly, in operations for an element
    BlockFunction compute[kValueTypes];
    // The same for tensors of one storage type: 16 bits are converted in registers, integers are
    // computed in as few bits as they have. Inputs that are no tensors are floats. Null: not
    // compiled.
    BlockFunction direct[kStorages];
    // The same with results that are 0 or 1, written as bytes.
    BlockFunction truth[kStorages];
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
