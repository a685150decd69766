#include "program/rows.h"

#include <algorithm>

#include "threads.h"
#include "worth_threads.h"

namespace infini::cpu::program {

void Rows::run(const Arguments &arguments, char *workspace) const {
    Run run{arguments, SharedValues(nest_, arguments), {}};
    for (size_t n = 0; n < nest_.slots.size(); ++n)
        run.bases[n] =
            nest_.slots[n].kind == Slot::kTensor ? nest_.slots[n].base(arguments) : nullptr;
    auto group_of = [&](int64_t number, char *memory) {
        if (!across_) {
            const int64_t first = number * group_;
            return Group{first, std::min(group_, nest_.rows - first), memory};
        }
        const int64_t columns = nest_.kept.size[nest_.kept.count - 1];
        const int64_t column = number % tiles_ * group_;
        return Group{number / tiles_ * columns + column, std::min(group_, columns - column),
                     memory};
    };
    parallel_for_work(size_t(parts_), 1, ranges_, [&](size_t begin, size_t end) {
        for (int64_t part = int64_t(begin); part < int64_t(end); ++part)
            for (int64_t g = part * groups_ / parts_; g < (part + 1) * groups_ / parts_; ++g)
                run_group(run, group_of(g, workspace + part * group_bytes_));
    });
}

void Rows::run_group(const Run &run, const Group &group) const {
    fill_caches(run, group);
    for (const Pass &pass : passes_) run_pass(run, group, pass);
    for (const LoopNest::Spill &spill : nest_.spills)
        write_rows(run, group, nest_.slots[size_t(spill.slot)],
                   row_values(group, nest_.slots[size_t(spill.row)].number));
}

void Rows::run_stage(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const {
    if (stage.native)
        run_native(run, group, stage, chunk);
    else if (batch_)
        run_batch(run, group, stage);
    else if (across_)
        run_across(run, group, stage, chunk);
    else
        run_along(run, group, stage, chunk);
}

void Rows::run_pass(const Run &run, const Group &group, const Pass &pass) const {
    if (nest_.stages[pass.begin].rows) return run_rows(run, group, nest_.stages[pass.begin]);
    auto run_chunks = [&](size_t begin, size_t end) {
        for (int64_t chunk = int64_t(begin); chunk < int64_t(end); ++chunk)
            for (size_t s = pass.begin; s < pass.end; ++s)
                run_stage(run, group, nest_.stages[s], chunk);
    };
    if (split_)
        parallel_for(size_t(chunks_), 1, run_chunks);
    else
        run_chunks(0, size_t(chunks_));
    const Stage &last = nest_.stages[pass.end - 1];
    if (last.folding)
        with_type(nest_.type, [&](auto zero) { join_chunks<decltype(zero)>(group, last); });
}

// ---- Offsets ------------------------------------------------------------------------------------

int64_t Rows::row_offset(const Slot &slot, int64_t row) const {
    if (nest_.kept.count == 1) return row * slot.kept[0];
    int64_t at[kDims];
    nest_.kept.locate(row, at);
    return slot.along(slot.kept, nest_.kept, at);
}

int64_t Rows::equal_rows(const Slot &slot, const Group &group, int64_t r, int64_t &pitch) const {
    const int last = nest_.kept.count - 1;
    pitch = last < 0 ? 0 : slot.kept[last];
    if (last <= 0) return group.count - r;
    int64_t size = nest_.kept.size[last];
    for (int d = last; d > 0 && slot.kept[d - 1] == slot.kept[d] * nest_.kept.size[d]; --d)
        size *= nest_.kept.size[d - 1];
    return std::min(group.count - r, size - (group.first + r) % size);
}

int64_t Rows::element_offset(const Slot &slot, int64_t position) const {
    if (nest_.folded.count == 1) return position * slot.folded[0];
    int64_t at[kDims];
    nest_.folded.locate(position, at);
    return slot.along(slot.folded, nest_.folded, at);
}

// Moves elements of a row from `position` on to values or back; `row` is the row's start.
void Rows::move(const Slot &slot, char *row, int64_t position, char *values, int64_t n,
                bool in) const {
    const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes, stride = lane(slot);
    Cursor at = cursor(position);
    while (n > 0) {
        const int64_t count = std::min(n, run_size() - at.inside);
        char *memory = row + element_offset(slot, at) * unit;
        if (in)
            gather(nest_.type, values, slot, memory, count, stride);
        else
            scatter(nest_.type, slot, memory, values, count, stride);
        values += count * int64_t(nest_.value_bytes);
        advance(at, count);
        n -= count;
    }
}

void Rows::fill_caches(const Run &run, const Group &group) const {
    for (size_t n = 0; n < nest_.slots.size(); ++n) {
        if (access_[n] != kCached) continue;
        const Slot &slot = nest_.slots[n];
        const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes;
        char *values = element_values(group, cache_[n]);
        if (batch_) {
            move_rows(slot, run.bases[n], group, values, true);
            continue;
        }
        for (int64_t r = 0; r < group.count; ++r)
            move(slot, run.bases[n] + row_offset(slot, group.first + r) * unit, 0,
                 values + r * nest_.row_size * int64_t(nest_.value_bytes), nest_.row_size, true);
    }
}

// ---- Stages -------------------------------------------------------------------------------------

// Evaluates the stage once per row.
void Rows::run_rows(const Run &run, const Group &group, const Stage &stage) const {
    Line line;
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
        const Slot &slot = nest_.slots[size_t(stage.inputs[i])];
        const bool shared = slot.kind == Slot::kShared;
        line.in[i] = shared ? run.shared.at(slot.number) : row_values(group, slot.number);
        line.step[i] = shared ? 0 : 1;
    }
    for (size_t i = 0; i < stage.outputs.size(); ++i) {
        const Slot &slot = nest_.slots[size_t(stage.outputs[i])];
        line.out[i] = slot.kind == Slot::kRow ? row_values(group, slot.number)
                                              : line.scratch + int64_t(i) * values_bytes_;
    }
    stage.compute(line.in, line.step, line.out, size_t(group.count));
    for (size_t i = 0; i < stage.outputs.size(); ++i) {
        const Slot &slot = nest_.slots[size_t(stage.outputs[i])];
        if (slot.kind == Slot::kTensor)
            write_rows(run, group, slot, static_cast<const char *>(line.out[i]));
    }
}

void Rows::write_rows(const Run &run, const Group &group, const Slot &slot,
                      const char *values) const {
    char *base = slot.base(run.arguments);
    for (int64_t r = 0, stride; r < group.count;) {
        const int64_t row = group.first + r, count = equal_rows(slot, group, r, stride);
        scatter(nest_.type, slot, base + row_offset(slot, row) * slot.bytes,
                values + r * int64_t(nest_.value_bytes), count, stride);
        r += count;
    }
}

// Combines the chunks' results pairwise.
template <class C>
void Rows::join_chunks(const Group &group, const Stage &stage) const {
    for (size_t i = 0; i < stage.outputs.size(); ++i) {
        const int fold = stage.folds[i];
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
            reinterpret_cast<C *>(row_values(group, nest_.slots[size_t(stage.folded[i])].number));
        const C *result = is_arg(fold) ? values(0) + apart : values(0);
        std::copy_n(result, group.count, results);
    }
}

}  // namespace infini::cpu::program
