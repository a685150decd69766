// Lines that one block sorts.
#include <algorithm>

#include "kernels/sort/order.h"

namespace infini::cuda {

TileSort::TileSort(const Ordering &ordering, Device &device, int64_t size, const EntryRoom *room)
    : entries_(room != nullptr) {
    Source source("sort/tile.cuh");
    source.type("T", ordering.dtype).type("P", ordering.place_dtype);
    kernel_ = device.compile(
        source.constant("kDescending", ordering.descending).constant("kEntries", entries_));
    if (room) room_ = *room;
    params_.from = sort_lines(ordering.from);
    params_.to = sort_lines(ordering.to);
    params_.stood = sort_lines(ordering.stood);
    params_.lines = ordering.lines();
    params_.size = int32_t(size);
    params_.padded = 1;
    while (params_.padded < size) params_.padded *= 2;
    params_.first = int32_t(ordering.first), params_.count = int32_t(ordering.count);
    // A block has as many lines as fit, unless there are few.
    const int64_t most = kTileEntries / params_.padded;
    const int64_t each = divide_up(params_.lines, int64_t(device.multiprocessors) * 4);
    params_.together = int32_t(std::min(most, each));
    shared_ = size_t(params_.together * params_.padded) * size_t(ordering.key_bytes() + 4);
    blocks_ = divide_up(params_.lines, params_.together);
}

Error TileSort::run(const Arguments &a, const Stream &stream) const {
    TileParams p = params_;
    p.values = a.pointer<void>(0), p.places = a.pointer<void>(1), p.x = a.pointer<void>(2);
    if (entries_) p.in = room_.at(a.workspace());
    return kernel_->launch(stream, blocks_, 512, p, shared_);
}

std::unique_ptr<Plan> plan_tile_sort(const Ordering &ordering, Device &device) {
    const TileSort sort(ordering, device, ordering.from.size, nullptr);
    return make_plan([=](const Arguments &a, const Stream &stream) { return sort.run(a, stream); });
}

std::unique_ptr<Plan> plan_sort_lines(const Ordering &ordering, Device &device) {
    if (ordering.from.size <= kTileEntries) return plan_tile_sort(ordering, device);
    return plan_radix_sort(ordering, device);
}

}  // namespace infini::cuda
