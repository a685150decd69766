// How a map is run: the order of dimensions, and the access to each operand.
#include <algorithm>
#include <cstdlib>

#include "program/cast.h"
#include "program/map.h"
#include "program/pack.h"

namespace infini::cpu::program {
namespace {

constexpr int64_t kShortTile = 16;  // fewer rows or columns are not worth a tile
// The longest rows that are packed: where they could be used in place, and where they are copied or
// converted anyway.
constexpr int64_t kShortRow = 64, kShortGatheredRow = 256;

bool contains(const std::vector<int> &numbers, size_t n) {
    return std::find(numbers.begin(), numbers.end(), int(n)) != numbers.end();
}

// Whether elements follow each other in the order of the loops.
bool is_dense(const Slot &slot, const Walk &walk) {
    int64_t stride = 1;
    for (int i = walk.count - 1; i >= 0; --i) {
        if (slot.kept[i] != stride) return false;
        stride *= walk.size[i];
    }
    return true;
}

bool is_one_value(const Slot &slot, const Walk &walk) {
    return std::all_of(slot.kept, slot.kept + walk.count, [](int64_t s) { return s == 0; });
}

}  // namespace

Map::Map(LoopNest nest) : nest_(std::move(nest)) {
    Walk &walk = nest_.kept;
    if (walk.count == 0) walk.size[walk.count++] = 1;
    if (walk.size[inner()] == 1)
        for (Slot &slot : nest_.slots) slot.kept[inner()] = 1;
    choose_direct();
    packed_ = choose_packed();
    choose_access();
    if (!packed_) choose_tile();
    if (tile_) choose_access();
    reads_.assign(nest_.slots.size(), false);
    writes_.assign(nest_.slots.size(), false);
    for (const Stage &stage : nest_.stages) {
        for (int number : stage.inputs) reads_[size_t(number)] = true;
        for (int number : stage.outputs) writes_[size_t(number)] = true;
    }
    for (size_t n = 0; n < nest_.slots.size(); ++n) {
        if (access_[n] == kGather && reads_[n]) gathered_.push_back(n);
        if (access_[n] == kGather && writes_[n]) scattered_.push_back(n);
    }
    choose_blocks();
    choose_jumps();
    choose_pairs();
    repeats_ = !packed_ && !tile_;
    for (size_t n = 0; n < nest_.slots.size(); ++n)
        if (access_[n] != kUnused)
            repeats_ = repeats_ && access_[n] == (writes_[n] ? kDirect : kSplat) &&
                       reads_[n] != writes_[n];
}

// Uses specialised loops for tensors of one storage type; the results of a single stage may be truth
// values instead. Operands that are not dense are copied to buffers without conversion.
void Map::choose_direct() {
    int given = 0, made = 0;  // input and output dtypes
    for (size_t n = 0; n < nest_.slots.size(); ++n) {
        const Slot &slot = nest_.slots[n];
        if (slot.kind == Slot::kPosition) return;
        if (slot.kind != Slot::kTensor) continue;
        bool read = false, written = false;
        for (const Stage &stage : nest_.stages) {
            read = read || contains(stage.inputs, n);
            written = written || contains(stage.outputs, n);
        }
        if ((read && given && given != slot.dtype) || (written && made && made != slot.dtype))
            return;
        if (read) given = slot.dtype;
        if (written) made = slot.dtype;
    }
    const bool single = nest_.stages.size() == 1;
    std::vector<BlockFunction> functions;
    for (const Stage &stage : nest_.stages) {
        BlockFunction compute = nullptr;
        if (single && stage.copies && given && given != made) {
            compute = cast_function(given, made);
        } else if (nest_.type != kDouble && nest_.type != kUint64) {
            const int storage = storage_of(given ? given : made);
            if (storage < 0) return;
            // Floats between stages are not rounded to 16 bits.
            const bool whole = storage != kF16 && storage != kBf16;
            if (made == given || !given)
                compute = single || whole ? stage.functor->direct[storage] : nullptr;
            else if (single && made == INFINI_DTYPE_BOOL)
                compute = stage.functor->truth[storage];
        }
        if (!compute) return;
        functions.push_back(compute);
    }
    for (size_t i = 0; i < functions.size(); ++i) nest_.stages[i].compute = functions[i];
    direct_ = !functions.empty();
}

// Several short rows are packed into a block: a call for each row would take longer than its
// elements.
bool Map::choose_packed() {
    Walk &walk = nest_.kept;
    if (walk.count < 2) return false;
    const int64_t size = walk.size[inner()];
    bool in_place = nest_.stages.size() == 1;
    for (const Slot &slot : nest_.slots) {
        if (slot.kind != Slot::kTensor) continue;
        const int64_t stride = std::llabs(slot.kept[inner()]);
        in_place = in_place && stride <= 1 && (direct_ || slot.dtype == dtype_of(nest_.type));
        for (int i = 0; i < inner() && size >= kShortTile; ++i)
            if (slot.kept[i] && std::llabs(slot.kept[i]) < stride && walk.size[i] >= kShortTile)
                return false;  // a tile
    }
    return size <= (in_place ? kShortRow : kShortGatheredRow);
}

void Map::choose_access() {
    access_.assign(nest_.slots.size(), kUnused);
    for (size_t n = 0; n < nest_.slots.size(); ++n) {
        const Slot &slot = nest_.slots[n];
        const bool tensor = slot.kind == Slot::kTensor;
        if (!tensor && slot.kind != Slot::kPosition) continue;
        const bool fits = tensor && (direct_ || slot.dtype == dtype_of(nest_.type));
        const int64_t stride = slot.kept[inner()];
        bool dense = stride == 1, one = stride == 0;
        if (packed_) dense = is_dense(slot, nest_.kept), one = is_one_value(slot, nest_.kept);
        if (tile_) dense = false, one = one && slot.kept[inner() - 1] == 0;
        access_[n] = fits && dense ? kDirect : one ? kSplat : kGather;
    }
}

// Moves a dimension to another position.
void Map::move_dimension(int from, int to) {
    auto rotate = [&](int64_t *values) {
        if (from < to)
            std::rotate(values + from, values + from + 1, values + to + 1);
        else
            std::rotate(values + to, values + from, values + from + 1);
    };
    rotate(nest_.kept.size);
    for (Slot &slot : nest_.slots) rotate(slot.kept);
}

// If an operand is contiguous along another dimension, tiles of both are gathered.
void Map::choose_tile() {
    int best = -1;
    for (size_t n = 0; n < nest_.slots.size(); ++n) {
        if (access_[n] != kGather) continue;
        const Slot &slot = nest_.slots[n];
        const int64_t stride = std::llabs(slot.kept[inner()]);
        if (stride < 2) continue;
        for (int i = 0; i < inner(); ++i) {
            const int64_t other = std::llabs(slot.kept[i]);
            if (other && other < stride && nest_.kept.size[i] >= kShortTile &&
                (best < 0 || other < std::llabs(slot.kept[best])))
                best = i;
        }
    }
    if (best < 0) return;
    tile_ = true;
    if (best != inner() - 1) move_dimension(best, inner() - 1);
}

void Map::choose_blocks() {
    buffer_.assign(nest_.slots.size(), -1);
    splat_.assign(nest_.slots.size(), -1);
    size_t buffers = 0;
    for (size_t n = 0; n < nest_.slots.size(); ++n) {
        if (access_[n] == kGather) buffer_[n] = int(buffers++);
        if (access_[n] == kSplat) splat_[n] = splats_++;
    }
    if (splats_ > kMostInputs)
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "a program has too many operands"};
    share_places(nest_);
    for (size_t n = 0; n < nest_.slots.size(); ++n)
        if (nest_.slots[n].kind == Slot::kElement)
            buffer_[n] = int(buffers) + nest_.slots[n].number;
    buffers += size_t(nest_.element_count);
    if ((packed_ || tile_) && !direct_) raw_ = int(buffers++);
    block_ = packed_ ? outer_total() * nest_.kept.size[inner()] : nest_.kept.size[inner()];
    int64_t unit = direct_ ? 1 : int64_t(nest_.value_bytes);  // bytes of a value in a buffer
    for (const Slot &slot : nest_.slots)
        if (direct_ && slot.kind == Slot::kTensor) unit = std::max<int64_t>(unit, slot.bytes);
    if (buffers) {
        const int64_t bytes = kScratch / int64_t(buffers) - (packed_ || tile_ ? 2 * kSlack : 0);
        const int64_t fitting = bytes / unit / 16 * 16;
        block_ = std::min({block_, kBlock, fitting});
        if (packed_) block_ -= block_ % nest_.kept.size[inner()];
        if (tile_) {
            tile_columns_ = kTileColumns;
            // For small elements, a column of a tile consists of whole cache lines.
            const int64_t most = direct_ ? std::max(kTileRows, 128 / unit) : kTileRows;
            tile_rows_ = std::clamp<int64_t>(fitting / kTileColumns, 1, most);
        }
    }
    buffer_bytes_ = unit * (tile_ ? tile_rows_ * tile_columns_ : block_);
    if (packed_ || tile_) buffer_bytes_ = (buffer_bytes_ + 2 * kSlack - 1) / kSlack * kSlack;
    int cost = nest_.stages.empty() ? 1 : -1;
    for (const Stage &stage : nest_.stages) cost += 1 + stage.functor->cost;
    grain_ = std::max<int64_t>(1024, 24576 / (1 + cost / 8));
}

// Bytes from the start of a row to the next row, when dimension d is the one that advances.
void Map::choose_jumps() {
    unbuffered_ = nest_.stages.size() == 1 && !tile_ && !packed_;
    jumps_.resize(nest_.slots.size());
    for (size_t n = 0; n < nest_.slots.size(); ++n) {
        const Slot &slot = nest_.slots[n];
        if (slot.kind == Slot::kElement || access_[n] == kGather) unbuffered_ = false;
        if (access_[n] == kUnused) continue;
        int64_t back = 0;
        for (int d = inner() - 1; d >= 0; --d) {
            const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes;
            jumps_[n].by[d] = (slot.kept[d] - back) * unit;
            back += (nest_.kept.size[d] - 1) * slot.kept[d];
        }
    }
}

// Operands with equal strides that may be the two parts of complex numbers; where they lie is known
// when the map runs.
void Map::choose_pairs() {
    partner_.assign(nest_.slots.size(), -1);
    if (tile_) return;
    pair(gathered_);
    pair(scattered_);
}

void Map::pair(const std::vector<size_t> &slots) {
    const auto may_be_part = [&](size_t n) {
        const Slot &slot = nest_.slots[n];
        const bool converts = !direct_ && slot.dtype != dtype_of(nest_.type);
        return slot.kind == Slot::kTensor && slot.kept[inner()] == 2 && reads_[n] != writes_[n] &&
               !(packed_ && converts);
    };
    for (size_t i = 0; i + 1 < slots.size(); ++i) {
        const size_t n = slots[i], m = slots[i + 1];
        const Slot &one = nest_.slots[n], &other = nest_.slots[m];
        if (may_be_part(n) && may_be_part(m) && one.dtype == other.dtype &&
            std::equal(one.kept, one.kept + nest_.kept.count, other.kept)) {
            partner_[n] = int(m), partner_[m] = int(n);
            ++i;
        }
    }
}

std::unique_ptr<Runner> make_map(LoopNest nest) { return std::make_unique<Map>(std::move(nest)); }

}  // namespace infini::cpu::program
