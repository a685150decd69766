// Images [N, C, ...] with three spatial dimensions; missing ones are leading ones of size 1.
#pragma once

#include "divide.h"

namespace infini {

struct ImageParams {
    int64_t batch = 0, channels = 0, size[3] = {1, 1, 1};
    int64_t batch_stride = 0, channel_stride = 0, stride[3] = {0, 0, 0};
    Divider by[3], by_channels;  // for images with fewer than 2^31 elements

    INFINI_BOTH int64_t elements() const { return size[0] * size[1] * size[2]; }
};

// How warps divide an image's outputs: a task is some rows of a few columns, in some planes (a plane
// has the last two dimensions).
struct StripParams {
    int64_t tasks = 0, tiles = 1, strips = 1;  // tiles of columns, strips of rows
    int32_t rows = 1, planes = 1;              // of a task
    int32_t whole = 0;                         // whether pairs of outputs are aligned
};

// Windows over the dimensions: sliding windows of a kernel, or bins that cover each dimension.
struct PoolParams {
    const void *x;
    void *y;
    int64_t *found;  // indices, if requested
    ImageParams from, to, places;
    int64_t kernel[3] = {1, 1, 1}, step[3] = {1, 1, 1}, pad[3] = {0, 0, 0}, gap[3] = {1, 1, 1};
    int64_t divisor = 0;       // divisor of a mean; 0: the number of elements in the window
    int32_t with_padding = 0;  // whether these include the padding
    StripParams strips;
};

struct FractionalParams {
    const void *x, *samples;
    void *y;
    int64_t *found;
    ImageParams from, to, places;
    int64_t kernel[3] = {1, 1, 1}, sample_stride[3] = {0, 0, 0};
    int32_t rank;
};

struct FoldParams {
    const void *columns;
    void *image;
    int64_t count, channels, size[2], windows[2], taps[2], step[2], pad[2], gap[2];
    int64_t to[4], from[3];  // strides
};

// Resampling along one dimension. Antialiasing needs tables: for each output, the first input
// element, the number of elements, and their weights.
struct AxisParams {
    int64_t in = 1, out = 1, taps = 1;
    double step = 1;  // the distance of outputs in the input
    int32_t *first;
    int32_t *count;
    void *weight;
};

struct ResampleParams {
    const void *x;
    void *y;
    ImageParams from, to;
    AxisParams axes[3];
    StripParams strips;
    int32_t corners = 0;
};

struct GridParams {
    const void *x, *grid;
    void *y;
    ImageParams from, to;
    int64_t grid_stride[5] = {};  // batch, three dimensions, component
    int64_t chunk;                // channels per thread
    int32_t corners;
};

}  // namespace infini
