// Shared by image kernels: tensors as images, and the width of coordinates.
#pragma once

#include "device/window/image_params.h"
#include "kernels/lines.h"
#include "window_case.h"

namespace infini::cuda {

inline ImageParams image_of(const Tensor &t) {
    ImageParams image;
    image.batch = t.size(0), image.channels = t.size(1);
    image.batch_stride = t.stride(0), image.channel_stride = t.stride(1);
    for (int i = 2; i < t.ndim; ++i) {
        image.size[kImageDims - t.ndim + i] = t.size(i);
        image.stride[kImageDims - t.ndim + i] = t.stride(i);
    }
    auto divider = [](int64_t by) {
        return Divider(by > 0 && by < int64_t(1) << 31 ? uint32_t(by) : 1);
    };
    for (int d = 0; d < kImageDims; ++d) image.by[d] = divider(image.size[d]);
    image.by_channels = divider(image.channels);
    return image;
}

// Whether 32 bits suffice for coordinates and numbers of elements, including padding.
inline bool is_small(const ImageParams &image) {
    constexpr int64_t kMost = int64_t(1) << 30;
    return image.batch * image.channels < kMost && image.elements() < kMost &&
           image.batch * image.channels * image.elements() < kMost;
}

inline const char *index_type(bool small) { return small ? "int32_t" : "int64_t"; }

}  // namespace infini::cuda
