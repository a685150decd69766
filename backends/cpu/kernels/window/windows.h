// The windows of pooling: for each dimension of an image, the input elements of each output.
#pragma once

#include <vector>

#include "kernel.h"
#include "window_case.h"

namespace infini::cpu {

// A tensor [N, C, ...] with three spatial dimensions: missing ones come first and have size 1.
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

// The rows of an image's outputs in order, divided into parts; avoids divisions, which take longer
// than a short row.
struct RowParts {
    RowParts(const Image &image, int64_t parts, int64_t at) : y(image), parts(parts) {
        auto next = [&at](int64_t count) {
            const int64_t rest = at % count;
            at /= count;
            return rest;
        };
        part = next(parts), o1 = next(y.size[1]), o0 = next(y.size[0]);
        channel = next(y.channels), batch = at;
    }
    void operator++() {
        if (++part < parts) return;
        part = 0;
        if (++o1 < y.size[1]) return;
        o1 = 0;
        if (++o0 < y.size[0]) return;
        o0 = 0;
        if (++channel < y.channels) return;
        channel = 0;
        ++batch;
    }

    const Image &y;
    int64_t parts;
    int64_t part, o1, o0, channel, batch;
};

// The elements first[o] + k * step, k < count[o], of one dimension. The divisor of a mean is the
// product of the dimensions' `divisor`s.
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
