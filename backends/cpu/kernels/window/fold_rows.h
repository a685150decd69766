// Sums overlapping windows into an image, one row at a time.
#pragma once

#include <algorithm>

#include "convert.h"

namespace infini::cpu {

// Windows of three dimensions; missing ones come first and have size 1. Element `tap` of window
// `place` contributes to position place * step + tap * dilation - pad.
struct FoldShape {
    static constexpr int kDims = 3;
    int64_t windows[kDims] = {1, 1, 1}, image[kDims] = {1, 1, 1}, taps[kDims] = {1, 1, 1};
    int64_t pad[kDims] = {0, 0, 0}, step[kDims] = {1, 1, 1}, dilation[kDims] = {1, 1, 1};

    int64_t window_count() const { return windows[0] * windows[1] * windows[2]; }
    int64_t image_size() const { return image[0] * image[1] * image[2]; }
    int64_t tap_count() const { return taps[0] * taps[1] * taps[2]; }

    // The window of a dimension whose element `tap` is at position `at`, or -1.
    int64_t window_of(int d, int64_t at, int64_t tap) const {
        const int64_t from = at + pad[d] - tap * dilation[d];
        if (from < 0 || from % step[d] != 0) return -1;
        return from / step[d] < windows[d] ? from / step[d] : -1;
    }
};

// Adds the contributions to elements [first, first + n) of a row of the image to the sums. The
// columns are those of one plane: element (tap, window) is at tap * tap_stride + window * stride.
template <class T, class C>
void add_windows(const FoldShape &s, const T *columns, int64_t tap_stride, int64_t stride,
                 int64_t row0, int64_t row1, int64_t first, int64_t n, C *__restrict sums) {
    for (int64_t t0 = 0; t0 < s.taps[0]; ++t0) {
        const int64_t w0 = s.window_of(0, row0, t0);
        if (w0 < 0) continue;
        for (int64_t t1 = 0; t1 < s.taps[1]; ++t1) {
            const int64_t w1 = s.window_of(1, row1, t1);
            if (w1 < 0) continue;
            const T *line = columns + (t0 * s.taps[1] + t1) * s.taps[2] * tap_stride +
                            (w0 * s.windows[1] + w1) * s.windows[2] * stride;
            const int64_t step = s.step[2];
            for (int64_t t2 = 0; t2 < s.taps[2]; ++t2, line += tap_stride) {
                // Windows w with first <= w * step - away < first + n.
                const int64_t away = s.pad[2] - t2 * s.dilation[2];
                auto from = [&](int64_t at) {
                    return at + away <= 0 ? 0 : (at + away + step - 1) / step;
                };
                const int64_t low = from(first), high = std::min(from(first + n), s.windows[2]);
                C *to = sums + (low * step - away - first);
                const T *source = line + low * stride;
                const int64_t count = high - low;
                if (step == 1 && stride == 1) {
                    for (int64_t i = 0; i < count; ++i) to[i] += load_element<C>(source[i]);
                } else {
                    for (int64_t i = 0; i < count; ++i)
                        to[i * step] += load_element<C>(source[i * stride]);
                }
            }
        }
    }
}

}  // namespace infini::cpu
