#include "program/rows.h"

#include <algorithm>

#include "threads.h"

namespace infini::cpu::program {

struct Rows::Run {
    const Arguments &arguments;
    SharedValues shared;
    char *bases[kMostOperands];
};

// The operands of a stage, line by line.
struct Rows::Line {
    const void *in[kMostInputs];
    ptrdiff_t step[kMostInputs];
    void *out[kMostOutputs];
    alignas(64) char splats[kMostInputs][kSplatBytes];
    alignas(64) char scratch[64 << 10];
};

void Rows::run(const Arguments &arguments, char *workspace) const {
    Run run{arguments, SharedValues(layout_, arguments), {}};
    for (size_t n = 0; n < layout_.slots.size(); ++n)
        run.bases[n] =
            layout_.slots[n].kind == Slot::kTensor ? layout_.slots[n].base(arguments) : nullptr;
    auto group_of = [&](int64_t number, char *memory) {
        if (!across_) {
            const int64_t first = number * group_;
            return Group{first, std::min(group_, layout_.rows - first), memory};
        }
        const int64_t columns = layout_.kept.size[layout_.kept.count - 1];
        const int64_t column = number % tiles_ * group_;
        return Group{number / tiles_ * columns + column, std::min(group_, columns - column),
                     memory};
    };
    parallel_for(size_t(parts_), 1, [&](size_t begin, size_t end) {
        for (int64_t part = int64_t(begin); part < int64_t(end); ++part)
            for (int64_t g = part * groups_ / parts_; g < (part + 1) * groups_ / parts_; ++g)
                run_group(run, group_of(g, workspace + part * group_bytes_));
    });
}

void Rows::run_group(const Run &run, const Group &group) const {
    fill_caches(run, group);
    for (const Step &step : layout_.steps) {
        if (step.rows) {
            run_rows(run, group, step);
            continue;
        }
        if (split_)
            parallel_for(size_t(chunks_), 1, [&](size_t begin, size_t end) {
                for (size_t chunk = begin; chunk < end; ++chunk)
                    run_chunk(run, group, step, int64_t(chunk));
            });
        else
            for (int64_t chunk = 0; chunk < chunks_; ++chunk) run_chunk(run, group, step, chunk);
        if (step.folding)
            with_type(layout_.type, [&](auto zero) { join_chunks<decltype(zero)>(group, step); });
    }
    for (const Layout::Spill &spill : layout_.spills)
        write_rows(run, group, layout_.slots[size_t(spill.slot)],
                   row_values(group, layout_.slots[size_t(spill.row)].number));
}

void Rows::run_chunk(const Run &run, const Group &group, const Step &step, int64_t chunk) const {
    with_type(layout_.type, [&](auto zero) {
        using C = decltype(zero);
        if (across_)
            run_across<C>(run, group, step, chunk);
        else
            run_along<C>(run, group, step, chunk);
    });
}

// ---- Where things are ---------------------------------------------------------------------------

int64_t Rows::row_offset(const Slot &slot, int64_t row) const {
    if (layout_.kept.count == 1) return row * slot.kept[0];
    int64_t at[kDims];
    layout_.kept.locate(row, at);
    return slot.along(slot.kept, layout_.kept, at);
}

int64_t Rows::element_offset(const Slot &slot, int64_t position) const {
    if (layout_.folded.count == 1) return position * slot.folded[0];
    int64_t at[kDims];
    layout_.folded.locate(position, at);
    return slot.along(slot.folded, layout_.folded, at);
}

int64_t Rows::run_length(int64_t position) const {
    const int last = layout_.folded.count - 1;
    return last < 0 ? 1 : layout_.folded.size[last] - position % layout_.folded.size[last];
}

// Elements of a row from a position on, into values or back; `row` is where the row begins.
void Rows::move(const Slot &slot, char *row, int64_t position, char *values, int64_t n,
                bool in) const {
    const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes, stride = lane(slot);
    while (n > 0) {
        const int64_t count = std::min(n, run_length(position));
        char *memory = row + element_offset(slot, position) * unit;
        if (in)
            gather(layout_.type, values, slot, memory, count, stride);
        else
            scatter(layout_.type, slot, memory, values, count, stride);
        values += count * int64_t(layout_.value_bytes);
        position += count;
        n -= count;
    }
}

void Rows::fill_caches(const Run &run, const Group &group) const {
    for (size_t n = 0; n < layout_.slots.size(); ++n) {
        if (access_[n] != kCached) continue;
        const Slot &slot = layout_.slots[n];
        const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes;
        char *values = element_values(group, cache_[n]);
        for (int64_t r = 0; r < group.count; ++r)
            move(slot, run.bases[n] + row_offset(slot, group.first + r) * unit, 0,
                 values + r * layout_.row_size * int64_t(layout_.value_bytes), layout_.row_size,
                 true);
    }
}

// ---- Stages -------------------------------------------------------------------------------------

// Once for each row.
void Rows::run_rows(const Run &run, const Group &group, const Step &step) const {
    Line line;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
        const Slot &slot = layout_.slots[size_t(step.inputs[i])];
        const bool shared = slot.kind == Slot::kShared;
        line.in[i] = shared ? run.shared.at(slot.number) : row_values(group, slot.number);
        line.step[i] = shared ? 0 : 1;
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        const Slot &slot = layout_.slots[size_t(step.outputs[i])];
        line.out[i] = slot.kind == Slot::kRow ? row_values(group, slot.number)
                                              : line.scratch + int64_t(i) * values_bytes_;
    }
    step.compute(line.in, line.step, line.out, size_t(group.count));
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        const Slot &slot = layout_.slots[size_t(step.outputs[i])];
        if (slot.kind == Slot::kTensor)
            write_rows(run, group, slot, static_cast<const char *>(line.out[i]));
    }
}

void Rows::write_rows(const Run &run, const Group &group, const Slot &slot,
                      const char *values) const {
    char *base = slot.base(run.arguments);
    const int last = layout_.kept.count - 1;
    for (int64_t r = 0; r < group.count;) {
        const int64_t row = group.first + r;
        int64_t count = 1, stride = 1;
        if (last >= 0) {
            count =
                std::min(group.count - r, layout_.kept.size[last] - row % layout_.kept.size[last]);
            stride = slot.kept[last];
        }
        scatter(layout_.type, slot, base + row_offset(slot, row) * slot.bytes,
                values + r * int64_t(layout_.value_bytes), count, stride);
        r += count;
    }
}

// The elements of one row, block by block.
template <class C>
void Rows::run_along(const Run &run, const Group &group, const Step &step, int64_t chunk) const {
    Line line;
    const int64_t begin = chunk * chunk_, end = std::min(layout_.row_size, begin + chunk_);
    const size_t inputs = step.inputs.size(), outputs = step.outputs.size();
    const bool one_run = layout_.folded.count == 1;
    // An input or output with a value for each element.
    struct Moving {
        size_t place;
        const Slot *slot;
        Access access;
        int64_t unit, lane;  // bytes of an element, and from one to the next
        char *base, *row;
        C *buffer;
    };
    Moving in[kMostInputs], out[kMostOutputs];
    size_t in_count = 0, out_count = 0, row_count = 0;
    std::pair<size_t, const C *> by_row[kMostInputs];  // inputs with a value for each row
    auto follow = [&](Moving &moving, size_t place, int number, size_t buffer) {
        const Slot &slot = layout_.slots[size_t(number)];
        moving = {place, &slot, access_[size_t(number)], slot.bytes, 0, nullptr, nullptr, nullptr};
        moving.buffer = reinterpret_cast<C *>(line.scratch) + int64_t(buffer) * block_;
        if (slot.kind == Slot::kElement || moving.access == kCached) {
            const int which = slot.kind == Slot::kElement ? slot.number : cache_[size_t(number)];
            moving.access = kCached;
            moving.base = element_values(group, which);
            moving.unit = moving.lane = int64_t(sizeof(C));
            return;
        }
        if (slot.kind == Slot::kPosition) moving.unit = 1;
        moving.base = run.bases[number];
        moving.lane = lane(slot) * moving.unit;
    };
    auto start_row = [&](Moving &moving, int64_t r) {
        moving.row = moving.access == kCached
                         ? moving.base + r * layout_.row_size * moving.unit
                         : moving.base + row_offset(*moving.slot, group.first + r) * moving.unit;
    };
    auto at_position = [&](const Moving &moving, int64_t at) {
        if (one_run || moving.access == kCached) return moving.row + at * moving.lane;
        return moving.row + element_offset(*moving.slot, at) * moving.unit;
    };
    for (size_t i = 0; i < inputs; ++i) {
        const Slot &slot = layout_.slots[size_t(step.inputs[i])];
        line.step[i] = slot.kind != Slot::kShared && slot.kind != Slot::kRow;
        if (slot.kind == Slot::kShared)
            line.in[i] = run.shared.at(slot.number);
        else if (slot.kind == Slot::kRow)
            by_row[row_count++] = {i, reinterpret_cast<C *>(row_values(group, slot.number))};
        else
            follow(in[in_count++], i, step.inputs[i], i);
    }
    for (size_t i = 0; i < outputs; ++i) {
        line.out[i] = reinterpret_cast<C *>(line.scratch) + int64_t(inputs + i) * block_;
        if (step.outputs[i] >= 0) follow(out[out_count++], i, step.outputs[i], inputs + i);
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
            folds[i] = fold_start<C>(step.folds[i]), indices[i] = C(-1);
        for (int64_t at = begin, n; at < end; at += n) {
            n = std::min(step.block, end - at);
            if (!crossing_ && !one_run) n = std::min(n, run_length(at));
            for (size_t k = 0; k < in_count; ++k) {
                Moving &moving = in[k];
                if (moving.access == kGather) {
                    move(*moving.slot, moving.row, at, reinterpret_cast<char *>(moving.buffer), n,
                         true);
                    line.in[moving.place] = moving.buffer;
                } else if (moving.access == kSplat) {
                    C one;
                    gather(layout_.type, &one, *moving.slot, at_position(moving, at), 1, 0);
                    repeat(line.splats[moving.place], one);
                    line.in[moving.place] = line.splats[moving.place], line.step[moving.place] = 0;
                } else {
                    line.in[moving.place] = at_position(moving, at);
                }
            }
            if (step.fold) {
                C one;
                step.fold(line.in, line.step, &one, size_t(n));
                folds[0] = fold_two(step.folds[0], folds[0], one);
                continue;
            }
            for (size_t k = 0; k < out_count; ++k)
                if (out[k].access != kGather) line.out[out[k].place] = at_position(out[k], at);
            if (step.copies && step.outputs[0] < 0 && line.step[0] == 1)
                line.out[0] = const_cast<void *>(line.in[0]);
            else
                step.compute(line.in, line.step, line.out, size_t(n));
            for (size_t i = 0; i < outputs; ++i) {
                const int fold = step.folds[i];
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
            if (!step.folds[i]) continue;
            char *place = partial(group, int(i), chunk);
            reinterpret_cast<C *>(place)[r] = folds[i];
            reinterpret_cast<C *>(place + values_bytes_)[r] = indices[i];
        }
    }
}

// One element of each row of a tile, line by line.
template <class C>
void Rows::run_across(const Run &run, const Group &group, const Step &step, int64_t chunk) const {
    Line line;
    const int64_t begin = chunk * chunk_, end = std::min(layout_.row_size, begin + chunk_);
    const int64_t n = group.count;
    const size_t inputs = step.inputs.size(), outputs = step.outputs.size();
    // What changes from line to line: where an operand's line is, and whether it goes through a buffer.
    struct Moving {
        size_t place;  // among the inputs or outputs
        const Slot *slot;
        Access access;
        char *memory, *now;
        int64_t apart;  // bytes from line to line, in the simple case
        C *buffer;
    };
    Moving in[kMostInputs], out[kMostOutputs];
    size_t in_count = 0, out_count = 0;
    auto follow = [&](Moving &moving, size_t place, int number, size_t buffer) {
        const Slot &slot = layout_.slots[size_t(number)];
        moving.place = place, moving.slot = &slot, moving.access = access_[size_t(number)];
        moving.buffer = reinterpret_cast<C *>(line.scratch) + int64_t(buffer) * block_;
        if (slot.kind == Slot::kElement) {
            moving.access = kDirect;
            moving.memory = element_values(group, slot.number);
            moving.apart = group_ * int64_t(sizeof(C));
        } else {
            const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes;
            moving.memory = run.bases[number] + row_offset(slot, group.first) * unit;
            moving.apart = slot.folded[0] * unit;
        }
        moving.now = moving.memory + begin * moving.apart;
    };
    for (size_t i = 0; i < inputs; ++i) {
        const Slot &slot = layout_.slots[size_t(step.inputs[i])];
        line.step[i] = 1;
        if (slot.kind == Slot::kShared)
            line.in[i] = run.shared.at(slot.number), line.step[i] = 0;
        else if (slot.kind == Slot::kRow)
            line.in[i] = row_values(group, slot.number);
        else
            follow(in[in_count++], i, step.inputs[i], i);
    }
    C *results[kMostOutputs], *indices[kMostOutputs];
    for (size_t i = 0; i < outputs; ++i) {
        line.out[i] = reinterpret_cast<C *>(line.scratch) + int64_t(inputs + i) * block_;
        if (step.outputs[i] >= 0) follow(out[out_count++], i, step.outputs[i], inputs + i);
        if (!step.folds[i]) continue;
        results[i] = reinterpret_cast<C *>(partial(group, int(i), chunk));
        indices[i] = results[i] + values_bytes_ / int64_t(sizeof(C));
        std::fill_n(results[i], n, fold_start<C>(step.folds[i]));
        std::fill_n(indices[i], n, C(-1));
    }
    const bool simple = layout_.folded.count == 1;
    if (simple && step.copies && step.outputs[0] < 0 && in_count && in[0].access == kDirect &&
        !is_arg(step.folds[0])) {
        fold_lines(step.folds[0], results[0], reinterpret_cast<const C *>(in[0].now),
                   in[0].apart / int64_t(sizeof(C)), size_t(end - begin), size_t(n));
        return;
    }
    auto place = [&](Moving &moving, int64_t at) {
        if (simple || moving.slot->kind == Slot::kElement) {
            char *here = moving.now;
            moving.now += moving.apart;
            return here;
        }
        const int64_t unit = moving.slot->kind == Slot::kPosition ? 1 : moving.slot->bytes;
        return moving.memory + element_offset(*moving.slot, at) * unit;
    };
    for (int64_t at = begin; at < end; ++at) {
        for (size_t k = 0; k < in_count; ++k) {
            Moving &moving = in[k];
            char *memory = place(moving, at);
            line.in[moving.place] = memory;
            if (moving.access == kSplat) {
                C one;
                gather(layout_.type, &one, *moving.slot, memory, 1, 0);
                repeat(line.splats[moving.place], one);
                line.in[moving.place] = line.splats[moving.place], line.step[moving.place] = 0;
            } else if (moving.access != kDirect) {
                gather(layout_.type, moving.buffer, *moving.slot, memory, n, lane(*moving.slot));
                line.in[moving.place] = moving.buffer;
            }
        }
        char *written[kMostOutputs];
        for (size_t k = 0; k < out_count; ++k) {
            written[k] = place(out[k], at);
            if (out[k].access == kDirect) line.out[out[k].place] = written[k];
        }
        step.compute(line.in, line.step, line.out, size_t(n));
        for (size_t k = 0; k < out_count; ++k)
            if (out[k].access != kDirect)
                scatter(layout_.type, *out[k].slot, written[k], out[k].buffer, n,
                        lane(*out[k].slot));
        for (size_t i = 0; i < outputs; ++i) {
            const C *values = static_cast<const C *>(line.out[i]);
            if (is_arg(step.folds[i]))
                for (int64_t k = 0; k < n; ++k)
                    fold_arg(step.folds[i], results[i][k], indices[i][k], values[k], C(at));
            else if (step.folds[i])
                fold_into(step.folds[i], results[i], values, size_t(n));
        }
    }
}

// The chunks' results, two and two.
template <class C>
void Rows::join_chunks(const Group &group, const Step &step) const {
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        const int fold = step.folds[i];
        if (!fold) continue;
        auto values = [&](int64_t chunk) {
            return reinterpret_cast<C *>(partial(group, int(i), chunk));
        };
        const int64_t apart = values_bytes_ / int64_t(sizeof(C));
        for (int64_t gap = 1; gap < chunks_; gap *= 2) {
            for (int64_t c = 0; c + gap < chunks_; c += 2 * gap) {
                C *to = values(c), *from = values(c + gap);
                if (is_arg(fold)) {
                    for (int64_t r = 0; r < group.count; ++r)
                        if (from[apart + r] >= C(0))
                            fold_arg(fold, to[r], to[apart + r], from[r], from[apart + r]);
                } else {
                    fold_into(fold, to, from, size_t(group.count));
                }
            }
        }
        C *results =
            reinterpret_cast<C *>(row_values(group, layout_.slots[size_t(step.folded[i])].number));
        const C *result = is_arg(fold) ? values(0) + apart : values(0);
        std::copy_n(result, group.count, results);
    }
}

}  // namespace infini::cpu::program
