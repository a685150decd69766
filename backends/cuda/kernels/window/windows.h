// Shared by image kernels: tensors as images, the width of coordinates, and how warps divide the
// outputs.
#pragma once

#include <algorithm>
#include <cstdlib>

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

// Whether 32 bits suffice for offsets in the images of a channel.
inline bool reaches_32_bits(const ImageParams &a, const ImageParams &b) {
    auto reach = [](const ImageParams &image) {
        int64_t reach = 0;
        for (int d = 0; d < kImageDims; ++d) reach += image.size[d] * std::abs(image.stride[d]);
        return reach;
    };
    return reach(a) < int64_t(1) << 30 && reach(b) < int64_t(1) << 30;
}

inline const char *index_type(bool small) { return small ? "int32_t" : "int64_t"; }

// A warp computes a strip: some rows of lanes * columns columns, in some planes. Narrow images have
// fewer lanes per plane, and a warp computes several planes at the same time.
struct StripPlan {
    static constexpr int64_t kMostRows = 32, kMostPlanes = 16;
    StripParams params;
    int64_t lanes, blocks;
    size_t pair_bytes;  // 0: neighbouring outputs are not stored in pairs

    bool is_whole(const void *y) const { return pair_bytes && is_aligned(y, pair_bytes); }
};

constexpr int64_t kColumns = 2;  // of a thread in a strip

inline StripPlan plan_strips(const Device &device, const ImageParams &to, size_t element) {
    StripPlan plan;
    plan.lanes = 1;
    while (plan.lanes < device.warp && plan.lanes * kColumns < to.size[2]) plan.lanes *= 2;
    // Narrower tiles if more than a fifth of the lanes were idle.
    while (plan.lanes > 8 && round_up(to.size[2], plan.lanes * kColumns) * 4 > to.size[2] * 5)
        plan.lanes /= 2;
    const int64_t groups = device.warp / plan.lanes;
    const int64_t planes = to.batch * to.channels * to.size[0];
    StripParams &p = plan.params;
    p.tiles = divide_up(to.size[2], plan.lanes * kColumns);
    auto tasks = [&](int64_t rows, int64_t rounds) {
        return p.tiles * divide_up(to.size[1], rows) * divide_up(planes, groups * rounds);
    };
    // Enough tasks for all multiprocessors matter more than long ones.
    const int64_t busy =
        int64_t(device.multiprocessors) * device.threads_per_multiprocessor / device.warp;
    int64_t rows = std::min(to.size[1], StripPlan::kMostRows);
    while (rows > 4 && tasks(rows, 1) < busy) rows = divide_up(rows, 2);
    const int64_t rounds =
        std::clamp<int64_t>(tasks(rows, 1) / (busy * 4), 1, StripPlan::kMostPlanes);
    p.rows = int32_t(rows), p.planes = int32_t(groups * rounds);
    p.strips = divide_up(to.size[1], rows);
    p.tasks = tasks(rows, rounds);
    plan.blocks = device.blocks_for(p.tasks, 256 / device.warp, 64);
    bool pairs = to.stride[2] == 1 && kColumns * element <= 16;
    for (int64_t stride : {to.batch_stride, to.channel_stride, to.stride[0], to.stride[1]})
        pairs &= stride % kColumns == 0;
    plan.pair_bytes = pairs ? kColumns * element : 0;
    return plan;
}

}  // namespace infini::cuda
