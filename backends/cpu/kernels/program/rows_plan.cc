// Planning of a phase with folds: direction, sizes, and how each operand is accessed.
#include <algorithm>

#include "program/native_fold.h"
#include "program/rows.h"
#include "threads.h"

namespace infini::cpu::program {

namespace {
constexpr int64_t kChunk = 16384;       // elements of a row, when going along rows
constexpr int64_t kLines = 256;         // lines per chunk, when going across rows
constexpr int64_t kShort = 512;         // elements of a row that is batched with its neighbours
constexpr int64_t kMostRuns = 32768;    // runs whose offsets are stored
constexpr int64_t kWorth = 32768;       // elements below which threads do not pay off
constexpr int64_t kCacheable = 32768;   // elements of a group that are converted once and cached
constexpr int64_t kScratch = 64 << 10;  // see Rows::Line

int64_t aligned(int64_t bytes) { return (bytes + 63) & ~int64_t(63); }
}  // namespace

Rows::Rows(LoopNest nest, bool invariant) : nest_(std::move(nest)), invariant_(invariant) {
    choose_direction();
    choose_access();
    choose_native();
    choose_passes();
    share_places(nest_, passing_);
    find_runs();
    choose_sizes();
    // Chunks that run in parallel need separate memory.
    if (split_) passing_.assign(passing_.size(), false);
}

void Rows::choose_direction() {
    const Walk &kept = nest_.kept;
    Walk &folded = nest_.folded;
    const bool long_lines = kept.count && kept.size[kept.count - 1] >= 16;
    if (long_lines && nest_.row_size == 1) {
        // Rows of one element are treated as columns of a single line.
        folded.count = 1, folded.size[0] = 1;
        for (Slot &slot : nest_.slots) slot.folded[0] = 0;
        across_ = true;
    } else if (long_lines && folded.count) {
        // Goes across if most of what is read is contiguous along the last kept dimension.
        int64_t along = 0, across = 0;
        for (const Stage &stage : nest_.stages) {
            for (int number : stage.inputs) {
                const Slot &slot = nest_.slots[size_t(number)];
                if (slot.kind != Slot::kTensor || stage.rows) continue;
                along += slot.folded[folded.count - 1] == 1;
                across += slot.kept[kept.count - 1] == 1 && slot.folded[folded.count - 1] != 0;
            }
        }
        // Very short rows do not justify a call each, but their columns do, whatever their strides.
        const bool many = kept.size[kept.count - 1] >= 256 && !invariant_;
        across_ = across > along || (nest_.row_size < 16 && many && !is_contiguous());
    }
    batch_ = !across_ && nest_.row_size > 0 && nest_.row_size <= kShort;
    crossing_ = !across_ && !batch_ && folded.count > 1 && folded.size[folded.count - 1] < 64;
}

// Whether rows are contiguous, or single values.
bool Rows::is_contiguous() const {
    for (const Stage &stage : nest_.stages) {
        if (stage.rows) continue;
        for (int number : stage.inputs) {
            const Slot &slot = nest_.slots[size_t(number)];
            if (slot.kind == Slot::kTensor && nest_.folded.count && lane(slot) != 1) return false;
        }
    }
    return true;
}

void Rows::choose_access() {
    const size_t count = nest_.slots.size();
    access_.assign(count, kUnused);
    std::vector<int> uses(count, 0);
    for (const Stage &stage : nest_.stages) {
        if (stage.rows) continue;
        for (int number : stage.inputs) ++uses[size_t(number)];
        for (int number : stage.outputs)
            if (number >= 0 && nest_.slots[size_t(number)].kind == Slot::kTensor)
                uses[size_t(number)] = -100;  // never cached: it is written
    }
    for (size_t n = 0; n < count; ++n) {
        const Slot &slot = nest_.slots[n];
        if (uses[n] == 0 || (slot.kind != Slot::kTensor && slot.kind != Slot::kPosition)) continue;
        const bool fits = slot.kind == Slot::kTensor && slot.dtype == dtype_of(nest_.type);
        const int64_t stride = lane(slot);
        if (crossing_)
            access_[n] = kGather;
        else
            access_[n] = fits && stride == 1 ? kDirect : stride == 0 ? kSplat : kGather;
        if (access_[n] == kGather && uses[n] > 1 && !across_) access_[n] = kCached;
    }
}

void Rows::find_runs() {
    if (nest_.folded.count <= 1 || across_) return;
    runs_ = nest_.row_size / run_size();
    if (runs_ * int64_t(nest_.slots.size()) > kMostRuns) return;
    for (const Slot &slot : nest_.slots)
        for (int64_t run = 0; run < runs_; ++run)
            run_offsets_.push_back(element_offset(slot, run * run_size()));
}

// Native folds read memory without conversion: their lines have to be dense.
void Rows::choose_native() {
    for (Stage &stage : nest_.stages) {
        if (!stage.native) continue;
        const Slot &slot = nest_.slots[size_t(stage.inputs[0])];
        const bool some = (across_ ? nest_.kept : nest_.folded).count > 0;
        // Elements that several stages read are converted once, for all of them.
        const bool cached = access_[size_t(stage.inputs[0])] == kCached;
        if (!some || lane(slot) != 1 || nest_.row_size == 0 || cached ||
            (across_ && !stage.native->into))
            stage.native = nullptr;
    }
}

void Rows::choose_sizes() {
    const int64_t value = int64_t(nest_.value_bytes), size = nest_.row_size;
    int element_steps = 0, most_folds = 0, most_buffers = 1;
    for (const Stage &stage : nest_.stages) {
        element_steps += !stage.rows;
        most_folds = std::max(most_folds, int(stage.outputs.size()));
        most_buffers = std::max(most_buffers, int(stage.inputs.size() + stage.outputs.size()));
    }
    const int64_t most = batch_ ? kBatch : kBlock;
    block_ = std::min(most, kScratch / (most_buffers * value) / 16 * 16);
    batch_ = batch_ && size <= block_;
    if (across_) {
        const int64_t columns = nest_.kept.size[nest_.kept.count - 1];
        // Several passes need a tile that fits in the cache; a single pass needs long lines.
        const int64_t fitting = element_steps > 1 ? 131072 / std::max<int64_t>(1, size) : kBlock;
        group_ = std::min({std::clamp<int64_t>(fitting / 16 * 16, 64, kBlock), block_, columns});
        tiles_ = (columns + group_ - 1) / group_;
        groups_ = nest_.rows / columns * tiles_;
        chunk_ = kLines;
    } else if (batch_) {
        group_ = std::max<int64_t>(1, block_ / size);
        if (group_ >= 16) group_ = group_ / 16 * 16;  // a multiple of the number of lanes
        group_ = std::min({group_, kBlock, nest_.rows});
        groups_ = (nest_.rows + group_ - 1) / group_;
        chunk_ = kChunk;
    } else {
        group_ = std::clamp<int64_t>(4096 / std::max<int64_t>(1, size), 1, 64);
        group_ = std::min(group_, nest_.rows);
        groups_ = (nest_.rows + group_ - 1) / group_;
        chunk_ = kChunk;
    }
    chunks_ = std::max<int64_t>(1, (size + chunk_ - 1) / chunk_);
    const int64_t threads = int64_t(thread_count()), total = nest_.rows * size;
    if (total >= 2 * kWorth && threads > 1) {
        split_ = groups_ < threads && chunks_ > 1;
    }
    // Folds by groups of rows give the same sums for any number of threads.
    if (!split_ && threads > 1) {
        int64_t cost = 0;
        for (const Stage &stage : nest_.stages)
            if (!stage.rows) cost += 1 + (stage.functor ? stage.functor->cost : 0);
        const int64_t least = std::max<int64_t>(1024, kWorth / 2 / (1 + cost / 4));
        ranges_ = double(total) / double(least);
        parts_ = std::max<int64_t>(1, std::min({groups_, threads * 4, total / least}));
    }
    cache_.assign(nest_.slots.size(), -1);
    for (size_t n = 0; n < nest_.slots.size(); ++n) {
        if (access_[n] != kCached) continue;
        if (group_ * size <= kCacheable)
            cache_[n] = nest_.element_count + caches_++;
        else
            access_[n] = kGather;
    }
    for (Stage &stage : nest_.stages) stage.block = needs_buffer(stage) ? block_ : chunk_;
    values_bytes_ = aligned(group_ * value);
    elements_at_ = nest_.row_count * values_bytes_;
    elements_bytes_ = aligned(group_ * size * value);
    partials_at_ = elements_at_ + (nest_.element_count + caches_) * elements_bytes_;
    group_bytes_ = partials_at_ + most_folds * chunks_ * 2 * values_bytes_;
    workspace = size_t(parts_ * group_bytes_);
}

// A pass ends after a fold, because later stages may need the result, and after a write to memory,
// because it may be read back in place.
void Rows::choose_passes() {
    const size_t count = nest_.slots.size(), nowhere = nest_.stages.size();
    std::vector<size_t> used_in(count, nowhere);
    passing_.assign(count, false);
    auto use = [&](int number) {
        if (number < 0 || nest_.slots[size_t(number)].kind != Slot::kElement) return;
        const size_t pass = passes_.size() - 1, n = size_t(number);
        passing_[n] = used_in[n] == nowhere || (used_in[n] == pass && passing_[n]);
        used_in[n] = pass;
    };
    bool open = false;
    for (size_t s = 0; s < nest_.stages.size(); ++s) {
        const Stage &stage = nest_.stages[s];
        if (open && !stage.rows)
            passes_.back().end = s + 1;
        else
            passes_.push_back({s, s + 1});
        for (int number : stage.inputs) use(number);
        for (int number : stage.outputs) use(number);
        open = !stage.rows && !stage.folding;
        for (int number : stage.outputs)
            open = open && (number < 0 || nest_.slots[size_t(number)].kind == Slot::kElement);
    }
}

// Whether a stage along rows needs buffers.
bool Rows::needs_buffer(const Stage &stage) const {
    for (int number : stage.inputs)
        if (access_[size_t(number)] == kGather) return true;
    if (stage.fold) return false;
    // A copy is folded in place, unless a single value is broadcast over the whole line.
    auto is_line = [&](int number) {
        const Slot &slot = nest_.slots[size_t(number)];
        return slot.kind != Slot::kShared && slot.kind != Slot::kRow &&
               access_[size_t(number)] != kSplat;
    };
    const bool in_place = stage.copies && is_line(stage.inputs[0]);
    for (size_t i = 0; i < stage.outputs.size(); ++i) {
        const int number = stage.outputs[i];
        if (number < 0 && !in_place) return true;
        if (number >= 0 && (stage.folds[i] || access_[size_t(number)] == kGather)) return true;
    }
    return false;
}

std::unique_ptr<Runner> make_rows(LoopNest nest, bool invariant) {
    return std::make_unique<Rows>(std::move(nest), invariant);
}

}  // namespace infini::cpu::program
