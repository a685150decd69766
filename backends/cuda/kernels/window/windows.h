// What kernels over images share: the tensors as images, lists among the attributes, and refusals.
#pragma once

#include <string>

#include "device/window/image_params.h"
#include "kernels/lines.h"

namespace infini::cuda {

inline constexpr int kImageDims = 3;
inline constexpr int64_t kMostWindow = int64_t(1) << 31;   // sizes beyond it are refused
inline constexpr int64_t kMostOutputs = int64_t(1) << 26;  // of a dimension

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

// Integers of 32 bits do for coordinates and numbers of elements, with room for paddings.
inline bool is_small(const ImageParams &image) {
    constexpr int64_t kMost = int64_t(1) << 30;
    return image.batch * image.channels < kMost && image.elements() < kMost &&
           image.batch * image.channels * image.elements() < kMost;
}

// A list of an operation's attributes, put behind what is there for the dimensions that it lacks.
// Values below `least` are refused. Returns false when the list was not given.
inline bool read_list(const Operation &operation, int attribute, int rank, int64_t least,
                      const char *name, int64_t *to, int dims = kImageDims) {
    const int64_t *list = operation.list(attribute);
    if (!list) return false;
    for (int i = 0; i < rank && i < int(operation.count(attribute)); ++i) {
        if (list[i] < least || list[i] > kMostWindow)
            throw Refusal{INFINI_STATUS_BAD_PARAM, std::string(operation.name()) + ": " + name +
                                                       "[" + std::to_string(i) + "] is " +
                                                       std::to_string(list[i]) + ": expected " +
                                                       std::to_string(least) + " or more"};
        to[dims - rank + i] = list[i];
    }
    return true;
}

[[noreturn]] inline void refuse_size(const Operation &operation, int dim, int64_t have,
                                     int64_t expected) {
    throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                  std::string(operation.name()) + ": spatial dimension " + std::to_string(dim) +
                      " of the result has size " + std::to_string(have) + ": expected " +
                      std::to_string(expected)};
}

inline const char *index_type(bool small) { return small ? "int32_t" : "int64_t"; }

}  // namespace infini::cuda
