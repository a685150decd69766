// Lines of an output, and the updates that are folded into them.
#pragma once

#include <algorithm>

#include "convert.h"
#include "index/fold.h"
#include "index/offsets.h"
#include "sort/order.h"
#include "threads.h"

namespace infini::cpu {

inline constexpr int64_t kBundle = 16;      // lines processed together
inline constexpr int64_t kMostLines = 128;  // the same if they have few entries and rows
inline constexpr int64_t kFewEntries = 4;  // entries of a line: a loop over them would be too short
inline constexpr int64_t kLongLine = 16384;  // entries of a line that justify several threads
inline constexpr int64_t kMostShares =
    8;  // with more, reading all indices costs more than the updates

// Lines and rows of the output that are processed together.
struct ScatterPart {
    int64_t begin, end;  // lines
    int64_t low, rows;   // the first row, and how many

    int64_t lines() const { return end - begin; }
};

struct Scatter {
    Lines output, indices, updates;  // the output's lines have the sizes of the indices'
    Lines repeated;                  // one value as updates
    int index_dtype;
    int64_t rows;        // of the output
    int64_t bundle = 1;  // lines processed together
    int64_t shares = 1;  // ranges that the rows are divided into

    int64_t parts() const { return (indices.count() + bundle - 1) / bundle * shares; }
    int64_t part_rows() const { return (rows + shares - 1) / shares; }
    ScatterPart part(int64_t at) const {
        if (shares == 1) {  // avoids divisions, which take as long as a short line
            const int64_t begin = at * bundle;
            return {begin, std::min(begin + bundle, indices.count()), 0, rows};
        }
        const int64_t begin = at / shares * bundle, low = at % shares * part_rows();
        return {begin, std::min(begin + bundle, indices.count()), low,
                std::max<int64_t>(0, std::min(part_rows(), rows - low))};
    }

    // Folds a part into elements at data[places[line - begin] + (row - low) * step]; `counts`,
    // which may be null, has a stride of `bundle` between rows.
    template <Fold kFold, class C, class I, class T>
    void fold(const ScatterPart &part, C *data, const int64_t *places, int64_t step, const I *index,
              const T *update, int64_t *counts) const {
        int64_t index_at[kMostLines], update_at[kMostLines];
        const int64_t lines = part.lines();
        indices.offsets.fill(part.begin, lines, index_at);
        updates.offsets.fill(part.begin, lines, update_at);
        auto update_one = [&](int64_t i, const I *at, const T *from, C *to) {
            const int64_t row = int64_t(*at) - part.low;
            if (uint64_t(row) >= uint64_t(part.rows)) return;
            combine<kFold>(to[row * step], *from);
            if (counts) ++counts[row * bundle + i];
        };
        const int64_t index_step = indices.step, update_step = updates.step;
        if (!counts && (lines == 1 || (index_step == 1 && indices.size > kFewEntries))) {
            for (int64_t i = 0; i < lines; ++i)
                fold_line<kFold>(data + places[i], step, part.low, part.rows, index + index_at[i],
                                 update + update_at[i]);
            return;
        }
        for (int64_t entry = 0; entry < indices.size; ++entry)
            for (int64_t i = 0; i < lines; ++i)
                update_one(i, index + index_at[i] + entry * index_step,
                           update + update_at[i] + entry * update_step, data + places[i]);
    }
    template <Fold kFold, class C, class T>
    static void combine(C &element, const T &value) {
        if constexpr (kFold == Fold::kAssign)
            element = value;
        else
            element = folded<kFold>(element, load_element<C>(value));
    }
    template <Fold kFold, class C, class I, class T>
    void fold_line(C *to, int64_t step, int64_t low, int64_t most, const I *index,
                   const T *update) const {
        const int64_t size = indices.size;
        auto all = [=](int64_t to_step, int64_t index_step, int64_t update_step) {
            for (int64_t entry = 0; entry < size; ++entry) {
                const int64_t row = int64_t(index[entry * index_step]) - low;
                if (uint64_t(row) < uint64_t(most)) [[likely]]
                    combine<kFold>(to[row * to_step], update[entry * update_step]);
            }
        };
        if (step == 1 && indices.step == 1 && updates.step == 1) return all(1, 1, 1);
        all(step, indices.step, updates.step);
    }
    template <Fold kFold, class C, class T>
    void fold(const ScatterPart &part, C *data, const int64_t *places, int64_t step,
              const void *index, const T *update, int64_t *counts) const {
        if (index_dtype == INFINI_DTYPE_I64)
            fold<kFold>(part, data, places, step, static_cast<const int64_t *>(index), update,
                        counts);
        else
            fold<kFold>(part, data, places, step, static_cast<const int32_t *>(index), update,
                        counts);
    }

    // Sets the elements that will receive updates.
    template <class C>
    void clear(const ScatterPart &part, C *data, const int64_t *places, int64_t step,
               const void *index, const C &start) const {
        Scatter same = *this;
        same.updates = repeated;
        same.fold<Fold::kAssign>(part, data, places, step, index, &start, nullptr);
    }

    // Folds directly into the output.
    template <Fold kFold, class T>
    void direct(const Slots &slots, T *data, const void *index, const T *update,
                bool include_self) const {
        slots.run([&](int64_t at, int64_t) {
            const ScatterPart part = this->part(at);
            int64_t places[kMostLines];
            output.offsets.fill(part.begin, part.lines(), places);
            T *to = data + part.low * output.step;
            if constexpr (kFold != Fold::kAssign)
                if (!include_self) clear(part, to, places, output.step, index, neutral<T>(kFold));
            fold<kFold>(part, to, places, output.step, index, update, nullptr);
        });
    }

    // Folds through a buffer per slot, in which lines are adjacent.
    size_t room_bytes(size_t element, bool counted) const {
        const size_t cells = size_t(part_rows() * bundle);
        return (cells * (element + (counted ? sizeof(int64_t) : 0)) + 63) / 64 * 64;
    }
    template <class T>
    void through_room(const Slots &slots, const Reduction &reduction, const Arguments &a) const {
        using C = Sum<T>;
        const void *index = a.pointer<void>(2);
        const T *update = a.pointer<T>(3);
        slots.run([&](int64_t part_at, int64_t slot) {
            const ScatterPart part = this->part(part_at);
            const int64_t cells = part.rows * bundle, lines = part.lines();
            T *data = a.pointer<T>(0) + part.low * output.step;
            char *room = a.workspace() + size_t(slot) * room_bytes(sizeof(C), reduction.mean);
            int64_t *counts = nullptr;
            if (reduction.mean) {
                counts = reinterpret_cast<int64_t *>(room);
                std::fill(counts, counts + cells, 0);
                room += size_t(cells) * sizeof(int64_t);
            }
            C *sums = reinterpret_cast<C *>(room);
            int64_t at[kMostLines], places[kMostLines];
            output.offsets.fill(part.begin, lines, at);
            for (int64_t i = 0; i < lines; ++i) places[i] = i;
            const bool dense = bundle == 1 && output.step == 1;
            if (dense) load_block(sums, data + at[0], size_t(part.rows));
            for (int64_t row = 0; row < part.rows && !dense; ++row)
                for (int64_t i = 0; i < lines; ++i)
                    sums[row * bundle + i] = load_element<C>(data[at[i] + row * output.step]);
            if (!reduction.include_self)
                clear(part, sums, places, bundle, index, neutral<C>(reduction.fold));
            visit_fold(reduction.fold, [&](auto fold_of) {
                fold<decltype(fold_of)::value>(part, sums, places, bundle, index, update, counts);
            });
            if (dense && !counts) return store_block(data + at[0], sums, size_t(part.rows));
            for (int64_t row = 0; row < part.rows; ++row)
                for (int64_t i = 0; i < lines; ++i) {
                    const int64_t cell = row * bundle + i;
                    if (counts && counts[cell] == 0) continue;
                    const C value = counts
                                        ? average(sums[cell], counts[cell] + reduction.include_self)
                                        : sums[cell];
                    store_element(data[at[i] + row * output.step], value);
                }
        });
    }
};

}  // namespace infini::cpu
