// Lines that one block sorts.
#include <algorithm>

#include "kernels/sort/order.h"

namespace infini::cuda {
namespace {

// Shorter lines are sorted by bitonic networks, as many as fit into a block.
constexpr int64_t kLeastByDigits = 512;

// Shared memory: words of keys and indices, or keys and two lists of indices.
int64_t entry_bytes(const Ordering &ordering) {
    return ordering.key_bits() <= 16 ? 4 : ordering.key_bytes() + 4;
}

}  // namespace

int64_t most_of_block(const Ordering &ordering, const Device &device) {
    constexpr int64_t kMost = 16384, kOfCounts = 2, kOther = 2048;  // bytes: of an entry, in all
    int64_t size = kMost;
    while (size * (entry_bytes(ordering) + kOfCounts) + kOther > int64_t(device.shared_bytes))
        size /= 2;
    return size;
}

TileSort::TileSort(const Ordering &ordering, Device &device, int64_t size, const EntryRoom *room)
    : entries_(room != nullptr) {
    const bool by_digits = size >= kLeastByDigits;
    Source source(by_digits ? "sort/block.cuh" : "sort/tile.cuh");
    source.type("T", ordering.dtype).type("P", ordering.place_dtype);
    source.constant("kDescending", ordering.descending).constant("kEntries", entries_);
    if (by_digits) {
        const int items = size <= 2048 ? 8 : 16;  // per thread
        while (threads_ * items < size) threads_ *= 2;
        const unsigned fewer = threads_ / 4 * 3;
        if (fewer % unsigned(device.warp) == 0 && fewer * items >= size) threads_ = fewer;
        source.constant("kThreads", threads_).constant("kItems", items);
        source.constant("kMinBlocks", std::max(1u, (items == 8 ? 1024 : 768) / threads_));
        shared_ = size_t(threads_ * items) * size_t(entry_bytes(ordering));
        blocks_ = ordering.lines();
    } else {
        threads_ = 512;
    }
    kernel_ = device.compile(source);
    if (room) room_ = *room;
    params_.from = sort_lines(ordering.from);
    params_.to = sort_lines(ordering.to);
    params_.stood = sort_lines(ordering.stood);
    params_.lines = ordering.lines();
    params_.size = int32_t(size);
    params_.first = int32_t(ordering.first), params_.count = int32_t(ordering.count);
    if (by_digits) return;
    params_.padded = 1;
    while (params_.padded < size) params_.padded *= 2;
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
    return kernel_->launch(stream, blocks_, threads_, p, shared_);
}

std::unique_ptr<Plan> plan_tile_sort(const Ordering &ordering, Device &device) {
    const TileSort sort(ordering, device, ordering.from.size, nullptr);
    return make_plan([=](const Arguments &a, const Stream &stream) { return sort.run(a, stream); });
}

std::unique_ptr<Plan> plan_sort_lines(const Ordering &ordering, Device &device) {
    if (ordering.from.size <= most_of_block(ordering, device))
        return plan_tile_sort(ordering, device);
    return plan_radix_sort(ordering, device);
}

}  // namespace infini::cuda
