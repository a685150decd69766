// Shared by sort, topk and kthvalue, which need some entries of each line in sorted order.
#pragma once

#include "device/sort/keys.cuh"
#include "kernels/lines.h"

namespace infini::cuda {

// Entries [first, first + count) of each sorted line are written to the outputs.
struct Ordering {
    int dtype, place_dtype;
    bool descending;
    Lines from, to, stood;
    int64_t first, count;

    int64_t lines() const { return from.count(); }
    int64_t key_bytes() const { return dtype_bytes(dtype) == 8 ? 8 : 4; }
    int key_bits() const { return dtype == INFINI_DTYPE_BOOL ? 1 : 8 * int(dtype_bytes(dtype)); }
};

// Selection is repeated for lines longer than this, before a block sorts them.
inline constexpr int64_t kTileEntries = 4096;
// The longest line that one block can sort, a power of two.
int64_t most_of_block(const Ordering &ordering, const Device &device);

// A section of the workspace for entries.
struct EntryRoom {
    size_t keys = 0, places = 0;  // offsets
    int64_t pitch = 0;

    EntryRoom() = default;
    EntryRoom(const Ordering &ordering, int64_t pitch, size_t &bytes) : pitch(pitch) {
        const size_t entries = size_t(ordering.lines() * pitch);
        keys = bytes;
        bytes += size_t(round_up(int64_t(entries) * ordering.key_bytes(), 256));
        places = bytes;
        bytes += size_t(round_up(int64_t(entries) * 4, 256));
    }
    Entries at(char *workspace) const {
        return {workspace + keys, reinterpret_cast<uint32_t *>(workspace + places), pitch};
    }
};

inline SortLines sort_lines(const Lines &lines) { return {lines.offsets, lines.step}; }

// Lines that a block sorts; with `room`, their entries are in the workspace.
class TileSort {
public:
    TileSort() = default;
    TileSort(const Ordering &ordering, Device &device, int64_t size, const EntryRoom *room);
    Error run(const Arguments &a, const Stream &stream) const;

private:
    std::shared_ptr<const Kernel> kernel_;
    TileParams params_ = {};
    EntryRoom room_;
    bool entries_ = false;
    unsigned threads_ = 32;
    size_t shared_ = 0;
    int64_t blocks_ = 0;
};

// Pointers: values, indices, elements.
std::unique_ptr<Plan> plan_tile_sort(const Ordering &ordering, Device &device);
std::unique_ptr<Plan> plan_radix_sort(const Ordering &ordering, Device &device);
// The better of both kernels.
std::unique_ptr<Plan> plan_sort_lines(const Ordering &ordering, Device &device);

}  // namespace infini::cuda
