// The windows of pooling: for each dimension of an image, which elements each output is made of.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kernel.h"

namespace infini::cpu {

inline constexpr int kImageDims = 3;
inline constexpr int64_t kMostWindow = int64_t(1) << 31;  // sizes beyond it are refused

// A tensor [N, C, ...] as one with three more dimensions: missing ones come first and have size 1.
struct Image {
    int dtype = 0;
    int64_t batch = 0, channels = 0, size[kImageDims] = {1, 1, 1};
    int64_t batch_stride = 0, channel_stride = 0, stride[kImageDims] = {0, 0, 0};

    Image() = default;
    explicit Image(const Tensor &t)
        : dtype(t.dtype),
          batch(t.size(0)),
          channels(t.size(1)),
          batch_stride(t.stride(0)),
          channel_stride(t.stride(1)) {
        for (int i = 2; i < t.ndim; ++i) {
            size[kImageDims - t.ndim + i] = t.size(i);
            stride[kImageDims - t.ndim + i] = t.stride(i);
        }
    }
    int64_t elements() const { return size[0] * size[1] * size[2]; }
};

// Kernel sizes, strides, paddings and dilations, of the same three dimensions.
struct WindowLists {
    int64_t kernel[kImageDims] = {1, 1, 1}, stride[kImageDims] = {1, 1, 1};
    int64_t pad[kImageDims] = {0, 0, 0}, dilation[kImageDims] = {1, 1, 1};
};

// A list of an operation's attributes, put behind what is there for the dimensions that it lacks.
// Values below `least` are refused. Returns false when the list was not given.
inline bool read_list(const Operation &operation, int attribute, int rank, int64_t least,
                      const char *name, int64_t *to) {
    const int64_t *list = operation.list(attribute);
    if (!list) return false;
    for (int i = 0; i < rank && i < int(operation.count(attribute)); ++i) {
        if (list[i] < least || list[i] > kMostWindow)
            throw Refusal{INFINI_STATUS_BAD_PARAM, std::string(operation.name()) + ": " + name +
                                                       "[" + std::to_string(i) + "] is " +
                                                       std::to_string(list[i]) + ": expected " +
                                                       std::to_string(least) + " or more"};
        to[kImageDims - rank + i] = list[i];
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

// The elements first[o] + k * step, k < count[o], of one dimension. What a mean is divided by is
// the product of the dimensions' `divisor`s.
struct Spans {
    std::vector<int64_t> first = {0}, count = {1}, divisor = {1};
    int64_t step = 1;

    void clear() { first.clear(), count.clear(), divisor.clear(); }
    int64_t outputs() const { return int64_t(first.size()); }
    void add(int64_t begin, int64_t elements, int64_t by) {
        first.push_back(begin), count.push_back(elements), divisor.push_back(by);
    }
};

}  // namespace infini::cpu
