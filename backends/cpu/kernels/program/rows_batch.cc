// Stages over short rows, all rows of a group at once: one call of the functor, and folds of many
// rows in parallel lanes.
#include <algorithm>

#include "program/fold_rows.h"
#include "program/native_fold.h"
#include "program/pack.h"
#include "program/rows.h"

namespace infini::cpu::program {
namespace {

// Repeats each value n times.
template <class C>
void spread(C *elements, const C *values, int64_t rows, int64_t n) {
    constexpr int64_t kLanes = int64_t(kWidth<C>);
    const int64_t total = rows * n;
    for (int64_t r = 0; r < rows; ++r) {
        const Vec<C> v = broadcast<Vec<C>>(values[r]);
        int64_t i = r * n;
        const int64_t end = i + n;
        // The excess lanes belong to the next row, which is written after this one.
        for (; i < end && i + kLanes <= total; i += kLanes) store(elements + i, v);
        for (; i < end; ++i) elements[i] = values[r];
    }
}

// As transpose_cells; dense rows and blocks of few elements without its preparations.
template <class E>
void copy_rows(E *to, int64_t to_down, int64_t to_across, const E *from, int64_t from_down,
               int64_t from_across, int64_t rows, int64_t columns) {
    if (to_across == 1 && from_across == 1 && columns >= 8) {
        for (int64_t r = 0; r < rows; ++r)
            std::copy_n(from + r * from_down, columns, to + r * to_down);
        return;
    }
    if (rows * columns > 64)
        return transpose_cells(to, to_down, to_across, from, from_down, from_across, rows, columns);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
            to[r * to_down + c * to_across] = from[r * from_down + c * from_across];
}

}  // namespace

// Rows whose elements are not adjacent in memory are gathered without conversion first, all rows
// that are equally spaced at once: a call for each takes longer than a short row.
void Rows::move_rows(const Slot &slot, char *base, const Group &group, char *values,
                     bool in) const {
    const int64_t n = nest_.row_size, total = group.count * n, step = lane(slot);
    const bool cells_fit = slot.kind == Slot::kTensor && slot.bytes <= 8 && total <= kBatch;
    if (nest_.folded.count != 1 || !cells_fit) {
        const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes;
        for (int64_t r = 0; r < group.count; ++r)
            move(slot, base + row_offset(slot, group.first + r) * unit, 0,
                 values + r * n * int64_t(nest_.value_bytes), n, in);
        return;
    }
    alignas(64) char room[kBatch * 8];
    const bool converts = slot.dtype != dtype_of(nest_.type);
    char *cells = converts ? room : values;
    if (!in && converts) scatter(nest_.type, slot, cells, values, total, 1);
    const Walk &kept = nest_.kept;
    const int last = kept.count - 1;
    const int64_t pitch = last < 0 ? 0 : slot.kept[last];
    with_cell(slot.bytes, [&]<class E>(E) {
        E *memory = reinterpret_cast<E *>(base), *row = reinterpret_cast<E *>(cells);
        int64_t at[kDims];
        kept.locate(group.first, at);
        for (int64_t r = 0, count; r < group.count; r += count, row += count * n) {
            count = last < 0 ? group.count : std::min(group.count - r, kept.size[last] - at[last]);
            E *there = memory + slot.along(slot.kept, kept, at);
            if (in)
                copy_rows(row, n, 1, there, pitch, step, count, n);
            else
                copy_rows(there, pitch, step, row, n, 1, count, n);
            if (last >= 0) at[last] += count;
            for (int d = last; d > 0 && at[d] == kept.size[d]; --d) at[d] = 0, ++at[d - 1];
        }
    });
    if (in && converts) gather(nest_.type, values, slot, cells, total, 1);
}

template <class C>
void Rows::run_batch_as(const Run &run, const Group &group, const Stage &stage) const {
    Line line;
    const int64_t n = nest_.row_size, total = group.count * n;
    auto buffer = [&](size_t number) {
        return reinterpret_cast<C *>(line.scratch) + int64_t(number) * block_;
    };
    auto start = [&](int number, int64_t r) {
        const Slot &slot = nest_.slots[size_t(number)];
        const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes;
        return run.bases[number] + row_offset(slot, group.first + r) * unit;
    };
    // Whether the rows of the group are contiguous.
    auto is_dense = [&](const Slot &slot) {
        int64_t pitch;
        return nest_.folded.count == 1 && lane(slot) == 1 && slot.kind == Slot::kTensor &&
               equal_rows(slot, group, 0, pitch) == group.count && (pitch == n || group.count == 1);
    };
    const size_t inputs = stage.inputs.size(), outputs = stage.outputs.size();
    for (size_t i = 0; i < inputs; ++i) {
        const int number = stage.inputs[i];
        const Slot &slot = nest_.slots[size_t(number)];
        const Access access = access_[size_t(number)];
        line.in[i] = buffer(i);
        line.step[i] = slot.kind != Slot::kShared;
        if (slot.kind == Slot::kShared) {
            line.in[i] = run.shared.at(slot.number);
        } else if (slot.kind == Slot::kRow) {
            spread(buffer(i), reinterpret_cast<C *>(row_values(group, slot.number)), group.count,
                   n);
        } else if (slot.kind == Slot::kElement) {
            line.in[i] = element_values(group, slot.number);
        } else if (access == kCached) {
            line.in[i] = element_values(group, cache_[size_t(number)]);
        } else if (access == kSplat && nest_.folded.count == 1 && slot.kind == Slot::kTensor) {
            C values[kBlock];
            for (int64_t r = 0, count, pitch; r < group.count; r += count) {
                count = equal_rows(slot, group, r, pitch);
                gather(nest_.type, values + r, slot, start(number, r), count, pitch);
            }
            spread(buffer(i), values, group.count, n);
        } else if (!is_dense(slot)) {
            move_rows(slot, run.bases[number], group, reinterpret_cast<char *>(buffer(i)), true);
        } else if (access == kDirect) {
            line.in[i] = start(number, 0);
        } else {
            gather(nest_.type, buffer(i), slot, start(number, 0), total, 1);
        }
    }
    for (size_t i = 0; i < outputs; ++i) {
        const int number = stage.outputs[i];
        line.out[i] = buffer(inputs + i);
        if (number < 0) continue;
        const Slot &slot = nest_.slots[size_t(number)];
        if (slot.kind == Slot::kElement)
            line.out[i] = element_values(group, slot.number);
        else if (access_[size_t(number)] == kDirect && is_dense(slot))
            line.out[i] = start(number, 0);
    }
    if (stage.copies && stage.outputs[0] < 0 && line.step[0] == 1)
        line.out[0] = const_cast<void *>(line.in[0]);
    else
        stage.compute(line.in, line.step, line.out, size_t(total));
    for (size_t i = 0; i < outputs; ++i) {
        const int fold = stage.folds[i], number = stage.outputs[i];
        C *values = static_cast<C *>(line.out[i]);
        if (fold) {
            C *results = reinterpret_cast<C *>(partial(group, int(i), 0));
            C *indices = results + values_bytes_ / int64_t(sizeof(C));
            if (is_arg(fold)) {
                for (int64_t r = 0; r < group.count; ++r) {
                    results[r] = fold_start<C>(fold), indices[r] = C(-1);
                    for (int64_t k = 0; k < n; ++k)
                        fold_arg(fold, results[r], indices[r], values[r * n + k], C(k));
                }
            } else {
                with_fold(fold, [&](auto combine) {
                    fold_rows(combine, fold_start<C>(fold), results, values, n, size_t(group.count),
                              size_t(n), [](const C *x) { return load<Vec<C>>(x); });
                    return 0;
                });
            }
        }
        if (number < 0 || line.out[i] != buffer(inputs + i)) continue;
        const Slot &slot = nest_.slots[size_t(number)];
        if (is_dense(slot)) {
            scatter(nest_.type, slot, start(number, 0), values, total, 1);
            continue;
        }
        move_rows(slot, run.bases[number], group, reinterpret_cast<char *>(values), false);
    }
}

void Rows::run_batch(const Run &run, const Group &group, const Stage &stage) const {
    with_type(nest_.type, [&](auto zero) { run_batch_as<decltype(zero)>(run, group, stage); });
}

// Processes a chunk of all rows, or columns, of the group without conversion.
void Rows::run_native(const Run &run, const Group &group, const Stage &stage, int64_t chunk) const {
    Line line;
    const NativeFold &native = *stage.native;
    const Slot &slot = nest_.slots[size_t(stage.inputs[0])];
    const int64_t begin = chunk * chunk_, end = std::min(nest_.row_size, begin + chunk_);
    char *state = line.scratch, *more = line.scratch + kBlock * 8;
    auto start = [&](int64_t r, int64_t position) {
        const int64_t offset = row_offset(slot, group.first + r) + element_offset(slot, position);
        return run.bases[stage.inputs[0]] + offset * native.bytes;
    };
    if (across_) {
        native.start(state, size_t(group.count));
        for (int64_t at = begin; at < end; ++at)
            native.into(state, start(0, at), size_t(group.count));
    } else if (nest_.folded.count == 1) {
        for (int64_t r = 0, count, pitch; r < group.count; r += count) {
            count = equal_rows(slot, group, r, pitch);
            native.rows(state + r * native.state_bytes, start(r, begin), pitch, size_t(count),
                        size_t(end - begin));
        }
    } else {
        native.start(state, size_t(group.count));
        for (int64_t r = 0; r < group.count; ++r) {
            const char *row =
                run.bases[stage.inputs[0]] + row_offset(slot, group.first + r) * native.bytes;
            Cursor next = cursor(begin);
            for (int64_t at = begin, n; at < end; at += n) {
                n = std::min(end - at, run_size() - next.inside);
                native.rows(more, row + element_offset(slot, next) * native.bytes, 0, 1, size_t(n));
                advance(next, n);
                native.join(state + r * native.state_bytes, more, 1);
            }
        }
    }
    native.finish(nest_.type, partial(group, 0, chunk), state, size_t(group.count));
}

}  // namespace infini::cpu::program
