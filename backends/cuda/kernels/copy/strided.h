// Copies between any two layouts of one shape, of elements of any size. Dimensions are joined where
// both layouts allow it; what is left is moved as one piece, word by word, or in tiles that are
// transposed.
#pragma once

#include "device/copy/strided.cuh"
#include "kernels/dims.h"

namespace infini::cuda {

class StridedCopy {
public:
    StridedCopy() = default;
    // Strides count elements of `element` bytes (1, 2, 4, 8 or 16). Those of the source may be 0 or
    // negative; the pointers given to run() are those of index 0.
    StridedCopy(Device &device, size_t element, int ndim, const int64_t *sizes,
                const int64_t *to_strides, const int64_t *from_strides);

    Error run(const Stream &stream, void *to, const void *from) const;

private:
    void plan_words(Device &device);
    bool plan_tiles(Device &device);

    enum class Way { kNothing, kBytes, kWords, kTiles };
    Way way_ = Way::kNothing;
    int64_t element_ = 1;
    int64_t word_ = 1;   // bytes: what both sides must be aligned to for whole words
    int64_t bytes_ = 0;  // kBytes: of all
    Dims<2> dims_;       // of the destination and the source, in bytes
    StridedCopyParams words_ = {};
    TransposeParams tiles_ = {};
    std::shared_ptr<const Kernel> kernel_;
};

}  // namespace infini::cuda
