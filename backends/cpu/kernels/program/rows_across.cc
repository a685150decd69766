// Stages across rows. Short lines that are adjacent in memory are processed several at a time.
#include <algorithm>

#include "program/rows.h"

namespace infini::cpu::program {

// Processes one element of each row of a tile, line by line.
template <class C>
void Rows::run_across_as(const Run &run, const Group &group, const Stage &stage,
                         int64_t chunk) const {
    Line line;
    const int64_t begin = chunk * chunk_, end = std::min(nest_.row_size, begin + chunk_);
    const int64_t n = group.count;
    const size_t inputs = stage.inputs.size(), outputs = stage.outputs.size();
    // State that changes from line to line: the address of an operand's line, and whether it goes
    // through a buffer.
    struct Moving {
        size_t place;  // index among the inputs or outputs
        const Slot *slot;
        Access access;
        char *memory, *now;
        int64_t apart;  // bytes between lines, in the simple case
        C *buffer;
    };
    Moving in[kMostInputs], out[kMostOutputs];
    size_t in_count = 0, out_count = 0;
    auto follow = [&](Moving &moving, size_t place, int number, size_t buffer) {
        const Slot &slot = nest_.slots[size_t(number)];
        moving.place = place, moving.slot = &slot, moving.access = access_[size_t(number)];
        moving.buffer = reinterpret_cast<C *>(line.scratch) + int64_t(buffer) * block_;
        if (slot.kind == Slot::kElement) {
            moving.access = kDirect;
            moving.memory = element_values(group, slot.number);
            moving.apart = group_ * int64_t(sizeof(C));
            if (passing_[size_t(number)]) moving.memory -= begin * moving.apart;
        } else {
            const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes;
            moving.memory = run.bases[number] + row_offset(slot, group.first) * unit;
            moving.apart = slot.folded[0] * unit;
        }
        moving.now = moving.memory + begin * moving.apart;
    };
    for (size_t i = 0; i < inputs; ++i) {
        const Slot &slot = nest_.slots[size_t(stage.inputs[i])];
        line.step[i] = 1;
        if (slot.kind == Slot::kShared)
            line.in[i] = run.shared.at(slot.number), line.step[i] = 0;
        else if (slot.kind == Slot::kRow)
            line.in[i] = row_values(group, slot.number);
        else
            follow(in[in_count++], i, stage.inputs[i], i);
    }
    C *results[kMostOutputs], *indices[kMostOutputs];
    for (size_t i = 0; i < outputs; ++i) {
        line.out[i] = reinterpret_cast<C *>(line.scratch) + int64_t(inputs + i) * block_;
        if (stage.outputs[i] >= 0) follow(out[out_count++], i, stage.outputs[i], inputs + i);
        if (!stage.folds[i]) continue;
        results[i] = reinterpret_cast<C *>(partial(group, int(i), chunk));
        indices[i] = results[i] + values_bytes_ / int64_t(sizeof(C));
        std::fill_n(results[i], n, fold_start<C>(stage.folds[i]));
        std::fill_n(indices[i], n, C(-1));
    }
    const bool simple = nest_.folded.count == 1;
    if (simple && stage.copies && stage.outputs[0] < 0 && in_count && in[0].access == kDirect &&
        !is_arg(stage.folds[0])) {
        fold_lines(stage.folds[0], results[0], reinterpret_cast<const C *>(in[0].now),
                   in[0].apart / int64_t(sizeof(C)), size_t(end - begin), size_t(n));
        return;
    }
    int64_t most = invariant_ ? 1 : std::max<int64_t>(1, std::min(block_ / n, end - begin));
    auto adjoins = [&](const Moving &moving) {
        const int64_t unit = moving.slot->kind == Slot::kElement ? sizeof(C) : moving.slot->bytes;
        const bool dense = moving.slot->kind == Slot::kElement || lane(*moving.slot) == 1;
        return simple && dense && moving.apart == n * unit && moving.slot->kind != Slot::kPosition;
    };
    for (size_t k = 0; k < in_count; ++k) most = adjoins(in[k]) ? most : 1;
    for (size_t k = 0; k < out_count; ++k) most = adjoins(out[k]) ? most : 1;
    if (most > 1)
        for (size_t i = 0; i < inputs; ++i) {
            if (nest_.slots[size_t(stage.inputs[i])].kind != Slot::kRow) continue;
            C *repeated = reinterpret_cast<C *>(line.scratch) + int64_t(i) * block_;
            for (int64_t k = 0; k < most; ++k)
                std::copy_n(static_cast<const C *>(line.in[i]), n, repeated + k * n);
            line.in[i] = repeated;
        }
    auto place = [&](Moving &moving, int64_t at, int64_t lines) {
        if (simple || moving.slot->kind == Slot::kElement) {
            char *here = moving.now;
            moving.now += lines * moving.apart;
            return here;
        }
        const int64_t unit = moving.slot->kind == Slot::kPosition ? 1 : moving.slot->bytes;
        return moving.memory + element_offset(*moving.slot, at) * unit;
    };
    for (int64_t at = begin, lines; at < end; at += lines) {
        lines = std::min(most, end - at);
        const int64_t count = lines * n;
        for (size_t k = 0; k < in_count; ++k) {
            Moving &moving = in[k];
            char *memory = place(moving, at, lines);
            line.in[moving.place] = memory;
            if (moving.access == kSplat) {
                C one;
                gather(nest_.type, &one, *moving.slot, memory, 1, 0);
                repeat(line.splats[moving.place], one);
                line.in[moving.place] = line.splats[moving.place], line.step[moving.place] = 0;
            } else if (moving.access != kDirect) {
                gather(nest_.type, moving.buffer, *moving.slot, memory, count, lane(*moving.slot));
                line.in[moving.place] = moving.buffer;
            }
        }
        char *written[kMostOutputs];
        for (size_t k = 0; k < out_count; ++k) {
            written[k] = place(out[k], at, lines);
            if (out[k].access == kDirect) line.out[out[k].place] = written[k];
        }
        if (stage.copies && stage.outputs[0] < 0 && line.step[0] == 1)
            line.out[0] = const_cast<void *>(line.in[0]);
        else
            stage.compute(line.in, line.step, line.out, size_t(count));
        for (size_t k = 0; k < out_count; ++k)
            if (out[k].access != kDirect)
                scatter(nest_.type, *out[k].slot, written[k], out[k].buffer, count,
                        lane(*out[k].slot));
        for (size_t i = 0; i < outputs; ++i) {
            const C *values = static_cast<const C *>(line.out[i]);
            if (is_arg(stage.folds[i]))
                for (int64_t l = 0; l < lines; ++l, values += n)
                    for (int64_t k = 0; k < n; ++k)
                        fold_arg(stage.folds[i], results[i][k], indices[i][k], values[k],
                                 C(at + l));
            else if (stage.folds[i])
                fold_lines(stage.folds[i], results[i], values, n, size_t(lines), size_t(n));
        }
    }
}

void Rows::run_across(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const {
    with_type(nest_.type,
              [&](auto zero) { run_across_as<decltype(zero)>(run, group, stage, chunk); });
}

}  // namespace infini::cpu::program
