// What the kernels for convolutions are told. For host and device.
#pragma once

#include "divide.h"

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

// x [images, groups, channels, positions] to [images, positions, groups, padded], zeros behind the
// channels.
struct ChannelsLastParams {
    void *to;
    const void *from;
    int64_t images;
    int groups, channels, padded, positions;
};

// Three spatial dimensions; fewer are preceded by ones. A place of y meets x at
// place * step - pad + tap * dilation; in a transposed convolution a place of x meets y so.
struct ConvolutionParams {
    const void *x, *w, *bias;  // bias may be null
    void *y;
    int images, groups, features, channels;  // features and channels of a group
    int in[3], out[3], step[3], dilation[3], pad[3], taps[3];
    int in_size, out_size, tap_count;
    Divider by_out_size, by_out1, by_out2;  // out[1] * out[2] is split in two steps
    Divider by_taps1, by_taps2;
    Divider by_step0, by_step1, by_step2;
    // For products: x with channels last, w [groups, features, taps, padded].
    int padded;
    Divider by_padded;
    int tiles_m, tiles_n;
};

}  // namespace infini
