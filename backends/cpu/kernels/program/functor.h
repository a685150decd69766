// The functors of programs as the engine calls them: loops over blocks, by compute type.
#pragma once

#include <infini/loop_nest.h>

#include <cstddef>
#include <cstdint>

namespace infini::cpu {

// out[k][i] = the functor of in[j][i * step[j]], for i < n. A step is 1, or 0 if all elements share
// the value, which is then repeated for every lane of a vector. An output may alias an input.
using BlockFunction = void (*)(const void *const *in, const ptrdiff_t *step, void *const *out,
                               size_t n);

// Folds the functor's only output over i < n and stores the value at `result`.
using FoldFunction = void (*)(const void *const *in, const ptrdiff_t *step, void *result, size_t n);

using infini::program::kValueTypes;

// Storage types of tensors that specialised loops read and write without conversion buffers.
enum Storage { kF16, kBf16, kI32, kI8, kU8, kBoolean, kF32, kI64, kStorages };

// The storage type of a dtype; -1 if there is none.
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
    int cost;  // roughly, in operations per element
    BlockFunction compute[kValueTypes];
    // The same for tensors of one storage type: 16-bit floats are converted in registers, and
    // integers are computed at their own width. Other inputs are floats. Null: not compiled.
    BlockFunction direct[kStorages];
    // The same, with results that are 0 or 1 and stored as bytes.
    BlockFunction truth[kStorages];
    // The InfiniFold that is evaluated together with the functor; 0: none. Null where not compiled.
    int fold;
    FoldFunction folded[kValueTypes];
};

struct FunctorList {
    const Functor *functors;
    size_t count;
};

// All lists, generated.
extern const FunctorList *const kFunctorLists[];
extern const size_t kFunctorListCount;

}  // namespace infini::cpu
