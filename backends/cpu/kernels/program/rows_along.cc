// Stages along rows.
#include <algorithm>

#include "program/rows.h"

namespace infini::cpu::program {

// Processes the elements of one row, block by block.
template <class C>
void Rows::run_along_as(const Run &run, const Group &group, const Stage &stage,
                        int64_t chunk) const {
    Line line;
    const int64_t begin = chunk * chunk_, end = std::min(nest_.row_size, begin + chunk_);
    const size_t inputs = stage.inputs.size(), outputs = stage.outputs.size();
    const bool one_run = nest_.folded.count == 1;
    // An input or output with one value per element.
    struct Moving {
        size_t place;
        const Slot *slot;
        Access access;
        int64_t unit, lane;  // bytes of an element, and bytes between elements
        char *base, *row;
        C *buffer;
    };
    Moving in[kMostInputs], out[kMostOutputs];
    size_t in_count = 0, out_count = 0, row_count = 0;
    std::pair<size_t, const C *> by_row[kMostInputs];  // inputs with one value per row
    auto follow = [&](Moving &moving, size_t place, int number, size_t buffer) {
        const Slot &slot = nest_.slots[size_t(number)];
        moving = {place, &slot, access_[size_t(number)], slot.bytes, 0, nullptr, nullptr, nullptr};
        moving.buffer = reinterpret_cast<C *>(line.scratch) + int64_t(buffer) * block_;
        if (slot.kind == Slot::kElement || moving.access == kCached) {
            const int which = slot.kind == Slot::kElement ? slot.number : cache_[size_t(number)];
            moving.access = kCached;
            moving.base = element_values(group, which);
            moving.unit = moving.lane = int64_t(sizeof(C));
            if (passing_[size_t(number)]) moving.base -= begin * moving.lane;
            return;
        }
        if (slot.kind == Slot::kPosition) moving.unit = 1;
        moving.base = run.bases[number];
        moving.lane = lane(slot) * moving.unit;
    };
    auto start_row = [&](Moving &moving, int64_t r) {
        moving.row = moving.access == kCached
                         ? moving.base + r * nest_.row_size * moving.unit
                         : moving.base + row_offset(*moving.slot, group.first + r) * moving.unit;
    };
    Cursor here{};
    auto at_position = [&](const Moving &moving, int64_t at) {
        if (one_run || moving.access == kCached) return moving.row + at * moving.lane;
        return moving.row + element_offset(*moving.slot, here) * moving.unit;
    };
    const Cursor first = one_run ? Cursor{} : cursor(begin);
    for (size_t i = 0; i < inputs; ++i) {
        const Slot &slot = nest_.slots[size_t(stage.inputs[i])];
        line.step[i] = slot.kind != Slot::kShared && slot.kind != Slot::kRow;
        if (slot.kind == Slot::kShared)
            line.in[i] = run.shared.at(slot.number);
        else if (slot.kind == Slot::kRow)
            by_row[row_count++] = {i, reinterpret_cast<C *>(row_values(group, slot.number))};
        else
            follow(in[in_count++], i, stage.inputs[i], i);
    }
    for (size_t i = 0; i < outputs; ++i) {
        line.out[i] = reinterpret_cast<C *>(line.scratch) + int64_t(inputs + i) * block_;
        if (stage.outputs[i] >= 0) follow(out[out_count++], i, stage.outputs[i], inputs + i);
    }
    for (int64_t r = 0; r < group.count; ++r) {
        for (size_t k = 0; k < row_count; ++k) {
            const auto [place, values] = by_row[k];
            repeat(line.splats[place], values[r]);
            line.in[place] = line.splats[place];
        }
        for (size_t k = 0; k < in_count; ++k) start_row(in[k], r);
        for (size_t k = 0; k < out_count; ++k) start_row(out[k], r);
        C folds[kMostOutputs], indices[kMostOutputs];
        for (size_t i = 0; i < outputs; ++i)
            folds[i] = fold_start<C>(stage.folds[i]), indices[i] = C(-1);
        Cursor next = first;
        for (int64_t at = begin, n; at < end; at += n) {
            n = std::min(stage.block, end - at);
            here = next;
            if (!crossing_ && !one_run) {
                n = std::min(n, run_size() - here.inside);
                advance(next, n);
            }
            for (size_t k = 0; k < in_count; ++k) {
                Moving &moving = in[k];
                if (moving.access == kGather) {
                    move(*moving.slot, moving.row, at, reinterpret_cast<char *>(moving.buffer), n,
                         true);
                    line.in[moving.place] = moving.buffer;
                } else if (moving.access == kSplat) {
                    C one;
                    gather(nest_.type, &one, *moving.slot, at_position(moving, at), 1, 0);
                    repeat(line.splats[moving.place], one);
                    line.in[moving.place] = line.splats[moving.place], line.step[moving.place] = 0;
                } else {
                    line.in[moving.place] = at_position(moving, at);
                }
            }
            if (stage.fold) {
                C one;
                stage.fold(line.in, line.step, &one, size_t(n));
                folds[0] = fold_two(stage.folds[0], folds[0], one);
                continue;
            }
            for (size_t k = 0; k < out_count; ++k)
                if (out[k].access != kGather) line.out[out[k].place] = at_position(out[k], at);
            if (stage.copies && stage.outputs[0] < 0 && line.step[0] == 1)
                line.out[0] = const_cast<void *>(line.in[0]);
            else
                stage.compute(line.in, line.step, line.out, size_t(n));
            for (size_t i = 0; i < outputs; ++i) {
                const int fold = stage.folds[i];
                const C *values = static_cast<const C *>(line.out[i]);
                if (is_arg(fold))
                    for (int64_t k = 0; k < n; ++k)
                        fold_arg(fold, folds[i], indices[i], values[k], C(at + k));
                else if (fold)
                    folds[i] = fold_two(fold, folds[i], fold_block(fold, values, size_t(n)));
            }
            for (size_t k = 0; k < out_count; ++k)
                if (out[k].access == kGather)
                    move(*out[k].slot, out[k].row, at, reinterpret_cast<char *>(out[k].buffer), n,
                         false);
        }
        for (size_t i = 0; i < outputs; ++i) {
            if (!stage.folds[i]) continue;
            char *place = partial(group, int(i), chunk);
            reinterpret_cast<C *>(place)[r] = folds[i];
            reinterpret_cast<C *>(place + values_bytes_)[r] = indices[i];
        }
    }
}

void Rows::run_along(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const {
    with_type(nest_.type,
              [&](auto zero) { run_along_as<decltype(zero)>(run, group, stage, chunk); });
}

}  // namespace infini::cpu::program
