// Copies between any two layouts of one shape, for elements of any size. Dimensions are merged if
// both layouts allow it; the rest is copied as one block, word by word, or in tiles that are
// transposed.
#pragma once

#include "device/copy/strided.cuh"
#include "kernels/dims.h"

namespace infini::cuda {

class StridedCopy {
public:
    StridedCopy() = default;
    // Strides are in elements of `element` bytes (1, 2, 4, 8 or 16). Source strides may be 0 or
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
    int64_t word_ = 1;   // in bytes: required alignment of both sides for whole words
    int64_t bytes_ = 0;  // kBytes: total size
    Dims<2> dims_;       // of destination and source, in bytes
    StridedCopyParams words_ = {};
    TransposeParams tiles_ = {};
    std::shared_ptr<const Kernel> kernel_;
};

}  // namespace infini::cuda
