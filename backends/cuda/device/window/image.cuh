// The offset of an element of an image. I: an integer type for indices of elements.
#pragma once

#include "image_params.h"

namespace infini {

INFINI_DEVICE I divided(I n, int64_t by, const Divider &divider) {
    return sizeof(I) == 4 ? I(divider.divide(uint32_t(n))) : n / I(by);
}

// An element's coordinates, from its index in row-major order; all but the last `rank` dimensions
// have size 1.
template <int rank>
struct PixelOf {
    I image, channel, at[3] = {0, 0, 0};

    INFINI_DEVICE PixelOf(const ImageParams &p, int64_t number) {
        I rest = I(number);
#pragma unroll
        for (int d = 2; d >= 3 - rank; --d) {
            const I next = divided(rest, p.size[d], p.by[d]);
            at[d] = rest - next * I(p.size[d]);
            rest = next;
        }
        image = divided(rest, p.channels, p.by_channels);
        channel = rest - image * I(p.channels);
    }
    INFINI_DEVICE int64_t plane(const ImageParams &p) const {
        return int64_t(image) * p.batch_stride + int64_t(channel) * p.channel_stride;
    }
    INFINI_DEVICE int64_t offset(const ImageParams &p) const {
        return plane(p) + int64_t(at[0]) * p.stride[0] + int64_t(at[1]) * p.stride[1] +
               int64_t(at[2]) * p.stride[2];
    }
};

using Pixel = PixelOf<3>;

// A task of StripParams. Each of the groups of `lanes` lanes takes every kWarp / lanes-th plane.
struct Strip {
    I plane, end, top, left;
    int32_t rows;

    INFINI_DEVICE Strip(const StripParams &s, const ImageParams &to, int64_t task, int columns) {
        const int64_t rest = task / s.tiles, chunk = rest / s.strips;
        left = I(task - rest * s.tiles) * columns;
        top = I(rest - chunk * s.strips) * s.rows;
        rows = int32_t(I(to.size[1]) - top < s.rows ? I(to.size[1]) - top : s.rows);
        plane = I(chunk) * s.planes;
        const I planes = I(to.batch) * I(to.channels) * I(to.size[0]);
        end = planes - plane < s.planes ? planes : plane + s.planes;
    }
};

// The plane of a number, in row-major order. deep: there are three dimensions.
template <bool deep>
struct PlaneOf {
    I image, channel, depth = 0;

    INFINI_DEVICE PlaneOf(const ImageParams &p, I number) {
        if constexpr (deep) {
            const I next = divided(number, p.size[0], p.by[0]);
            depth = number - next * I(p.size[0]);
            number = next;
        }
        image = divided(number, p.channels, p.by_channels);
        channel = number - image * I(p.channels);
    }
    INFINI_DEVICE int64_t offset(const ImageParams &p) const {
        return image * p.batch_stride + channel * p.channel_stride;
    }
    INFINI_DEVICE int64_t offset(const ImageParams &p, I row, I column) const {
        return offset(p) + depth * p.stride[0] + row * p.stride[1] + column * p.stride[2];
    }
};

// Stores neighbouring results of a row, of which `count` exist.
template <int n, class T>
INFINI_DEVICE void store_columns(T *to, const Vec<T, n> &values, I stride, I count, bool whole) {
    if (whole && count >= n) return store<n>(to, values);
#pragma unroll
    for (int i = 0; i < n; ++i)
        if (i < count) to[i * stride] = values[i];
}

INFINI_DEVICE I least_of(I a, I b) { return a < b ? a : b; }

}  // namespace infini
