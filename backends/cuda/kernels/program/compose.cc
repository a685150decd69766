// The properties that determine the text of a phase: numbering of operands, passes, layouts of
// operands, index types.
#include "kernels/program/compose.h"

#include <algorithm>
#include <cstdlib>

namespace infini::cuda::program {

Composer::Composer(const LoopNest &nest, const InfiniProgram &program, Direction direction)
    : nest_(nest), program_(program), direction_(direction) {
    const size_t count = nest.slots.size();
    number_.assign(count, -1);
    access_.assign(count, Access::kUniform);
    in_elements_.assign(count, false);
    read_.assign(count, false);
    written_.assign(count, false);
    held_.assign(count, false);
    turned_.assign(count, false);
    number_operands();
    find_passes();
    find_held();
    find_index_type();
}

// ---- Numbering ----------------------------------------------------------------------------------

void Composer::number(int slot, bool by_row) {
    const Slot &s = nest_.slots[size_t(slot)];
    if (!by_row) in_elements_[size_t(slot)] = true;
    if (number_[size_t(slot)] >= 0) return;
    std::vector<int> *list = nullptr;
    switch (s.kind) {
        case Slot::kTensor:
        case Slot::kPosition:
            list = &operands_;
            break;
        case Slot::kShared:
            list = &shared_;
            break;
        case Slot::kElement:
            list = &elements_;
            break;
        default:
            list = &rows_;
    }
    number_[size_t(slot)] = int(list->size());
    list->push_back(slot);
}

void Composer::number_operands() {
    for (const Stage &stage : nest_.stages) {
        for (int slot : stage.inputs) {
            number(slot, stage.rows);
            read_[size_t(slot)] = true;
        }
        for (size_t i = 0; i < stage.outputs.size(); ++i) {
            if (stage.outputs[i] >= 0) {
                number(stage.outputs[i], stage.rows);
                written_[size_t(stage.outputs[i])] = true;
            }
            if (stage.folds[i]) number(stage.folded[i], true);
        }
    }
    for (const LoopNest::Spill &spill : nest_.spills) {
        number(spill.row, true);
        number(spill.slot, true);
        written_[size_t(spill.slot)] = true;
    }
    for (int slot : operands_) {
        const int64_t stride = lane_stride(nest_.slots[size_t(slot)]);
        access_[size_t(slot)] = stride == 0   ? Access::kUniform
                                : stride == 1 ? Access::kDense
                                              : Access::kStrided;
    }
}

int Composer::lane_dim() const {
    return (direction_ == Direction::kAlong ? nest_.folded.count : nest_.kept.count) - 1;
}

int64_t Composer::lane_stride(const Slot &slot) const {
    const int dim = lane_dim();
    if (dim < 0) return 0;
    return direction_ == Direction::kAlong ? slot.folded[dim] : slot.kept[dim];
}

int64_t Composer::lane_size() const {
    const int dim = lane_dim();
    if (dim < 0) return 1;
    return direction_ == Direction::kAlong ? nest_.folded.size[dim] : nest_.kept.size[dim];
}

// ---- Passes -------------------------------------------------------------------------------------

// A pass ends where the next stage needs its folds.
void Composer::find_passes() {
    std::vector<char> pending(nest_.slots.size(), false);  // computed by the last pass
    for (size_t s = 0; s < nest_.stages.size(); ++s) {
        const Stage &stage = nest_.stages[s];
        bool waits = false;
        for (int slot : stage.inputs) waits = waits || pending[size_t(slot)];
        if (stage.rows) {
            (passes_.empty() ? before_ : passes_.back().rows).push_back(int(s));
            for (int slot : stage.outputs)
                if (slot >= 0 && !passes_.empty()) pending[size_t(slot)] = true;
            continue;
        }
        if (passes_.empty() || waits) {
            passes_.emplace_back();
            std::fill(pending.begin(), pending.end(), false);
        }
        passes_.back().stages.push_back(int(s));
        for (size_t i = 0; i < stage.outputs.size(); ++i)
            if (stage.folds[i]) pending[size_t(stage.folded[i])] = true;
    }
}

void Composer::find_held() {
    std::vector<size_t> made(nest_.slots.size(), 0);
    for (size_t p = 0; p < passes_.size(); ++p)
        for (int s : passes_[p].stages) {
            const Stage &stage = nest_.stages[size_t(s)];
            for (int slot : stage.inputs)
                if (nest_.slots[size_t(slot)].kind == Slot::kElement && made[size_t(slot)] != p)
                    held_[size_t(slot)] = true;
            for (int slot : stage.outputs)
                if (slot >= 0) made[size_t(slot)] = p;
        }
}

int Composer::held_count() const { return int(std::count(held_.begin(), held_.end(), true)); }

// ---- Indices ------------------------------------------------------------------------------------

void Composer::find_index_type() {
    constexpr int64_t kMost = INT32_MAX;
    wide_index_ = nest_.rows * nest_.row_size > kMost;
    for (int slot : operands_) {
        const Slot &s = nest_.slots[size_t(slot)];
        int64_t reach = 0;
        for (int i = 0; i < nest_.kept.count; ++i)
            reach += std::llabs(s.kept[i]) * (nest_.kept.size[i] - 1);
        for (int i = 0; i < nest_.folded.count; ++i)
            reach += std::llabs(s.folded[i]) * (nest_.folded.size[i] - 1);
        wide_index_ = wide_index_ || reach > kMost;
    }
    // Without division, 64-bit indices have no cost.
    if (direction_ == Direction::kMap && nest_.kept.count <= 1) wide_index_ = true;
}

bool Composer::moves_kept(int slot) const {
    const Slot &s = nest_.slots[size_t(slot)];
    return std::any_of(s.kept, s.kept + nest_.kept.count, [](int64_t x) { return x != 0; });
}

bool Composer::moves_folded(int slot) const {
    const Slot &s = nest_.slots[size_t(slot)];
    return std::any_of(s.folded, s.folded + nest_.folded.count, [](int64_t x) { return x != 0; });
}

// ---- Widths -------------------------------------------------------------------------------------

int Composer::choose_width(int most) const {
    int smallest = 0, largest = 0, written = 1;
    for (int slot : operands_) {
        const Slot &s = nest_.slots[size_t(slot)];
        if (s.kind != Slot::kTensor || !in_elements_[size_t(slot)] ||
            access_[size_t(slot)] != Access::kDense)
            continue;
        smallest = smallest ? std::min(smallest, s.bytes) : s.bytes;
        largest = std::max(largest, s.bytes);
        if (written_[size_t(slot)]) written = std::max(written, s.bytes);
    }
    if (!smallest) return 1;
    // Writes use one access: two would each fill half of the sectors that they touch.
    int width = std::min({16 / smallest, 32 / largest, 16 / written, most});
    auto fits = [&](int64_t number) { return number % width == 0; };
    const bool flat = direction_ == Direction::kMap && nest_.kept.count <= 1;  // has a tail
    for (; width > 1; width /= 2) {
        bool good = flat || fits(lane_size());
        for (int slot : operands_) {
            const Slot &s = nest_.slots[size_t(slot)];
            if (s.kind != Slot::kTensor || !in_elements_[size_t(slot)] ||
                access_[size_t(slot)] != Access::kDense)
                continue;
            const bool kept = direction_ != Direction::kAlong;
            good = good && (s.pointer < 0 || fits(s.start));
            for (int i = 0; i < nest_.kept.count - kept; ++i) good = good && fits(s.kept[i]);
            for (int i = 0; i < nest_.folded.count - !kept; ++i) good = good && fits(s.folded[i]);
        }
        if (good) break;
    }
    return width;
}

uint32_t Composer::alignment(int slot, int width) const {
    const Slot &s = nest_.slots[size_t(slot)];
    if (turned_[size_t(slot)]) return uint32_t(s.bytes * turned_width(slot, width > 1 ? 16 : 1));
    if (s.kind != Slot::kTensor || !in_elements_[size_t(slot)] ||
        access_[size_t(slot)] != Access::kDense)
        return 1;
    return uint32_t(std::min(16, s.bytes * width));
}

int Composer::dense_bytes() const {
    int bytes = 0;
    for (int slot : operands_)
        if (read_[size_t(slot)] && in_elements_[size_t(slot)] &&
            access_[size_t(slot)] != Access::kUniform)
            bytes += nest_.slots[size_t(slot)].bytes;
    return bytes;
}

bool Composer::is_row_data(int slot) const {
    return read_[size_t(slot)] && in_elements_[size_t(slot)] && moves_kept(slot) &&
           access_[size_t(slot)] != Access::kUniform;
}

int Composer::row_bytes() const {
    int bytes = 0;
    for (int slot : operands_)
        if (is_row_data(slot)) bytes += nest_.slots[size_t(slot)].bytes;
    return bytes;
}

int Composer::row_tensors() const {
    return int(std::count_if(operands_.begin(), operands_.end(),
                             [&](int slot) { return is_row_data(slot); }));
}

int Composer::turned_dimension() const {
    if (direction_ != Direction::kMap || nest_.kept.count < 2) return -1;
    int best = -1, found = 0;
    for (int slot : operands_) {
        const Slot &s = nest_.slots[size_t(slot)];
        if (s.kind != Slot::kTensor || written_[size_t(slot)]) continue;
        if (access_[size_t(slot)] != Access::kStrided) continue;
        for (int i = 0; i < lane_dim(); ++i)
            if (s.kept[i] == 1 && nest_.kept.size[i] >= 16 && (best < 0 || best == i))
                best = i, ++found;
    }
    // Tiles of more operands would not fit into shared memory.
    return lane_size() >= 16 && found <= 4 ? best : -1;
}

void Composer::turn() {
    for (int slot : operands_) {
        const Slot &s = nest_.slots[size_t(slot)];
        turned_[size_t(slot)] = s.kind == Slot::kTensor && !written_[size_t(slot)] &&
                                access_[size_t(slot)] == Access::kStrided &&
                                s.kept[nest_.kept.count - 2] == 1;
    }
}

int Composer::turned_width(int slot, int most) const {
    const Slot &s = nest_.slots[size_t(slot)];
    int width = std::min(most, 16 / s.bytes);
    for (; width > 1; width /= 2) {
        bool good = s.pointer < 0 || s.start % width == 0;
        for (int i = 0; i < nest_.kept.count; ++i)
            good = good && (i == nest_.kept.count - 2 || s.kept[i] % width == 0);
        if (good) break;
    }
    return width;
}

bool Composer::has_row_results() const {
    if (!nest_.spills.empty()) return true;
    for (const Stage &stage : nest_.stages)
        for (int slot : stage.outputs)
            if (stage.rows && slot >= 0 && nest_.slots[size_t(slot)].kind == Slot::kTensor)
                return true;
    return false;
}

}  // namespace infini::cuda::program
