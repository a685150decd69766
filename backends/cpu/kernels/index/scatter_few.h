// Scatters in which only the elements that receive updates are read and rounded: lines with few
// updates, or with many more elements than updates.
#pragma once

#include <limits>

#include "index/scatter.h"
#include "sort/radix.h"

namespace infini::cpu {

template <class T>
struct FewUpdates {
    using C = Sum<T>;
    using E = Entry<uint32_t>;
    const Scatter &scatter;
    const Reduction &reduction;

    static constexpr int64_t kCompared = 4;  // updates of a line that are compared with each other
    static constexpr int64_t kMoreRows = 8;  // elements for each update if these are sorted
    static bool fits(const Scatter &scatter) {
        const int64_t size = scatter.indices.size;
        if (scatter.rows > std::numeric_limits<int32_t>::max()) return false;
        return size <= kCompared || size <= scatter.part_rows() / kMoreRows;
    }
    static size_t room_bytes(const Scatter &scatter) {
        const int64_t size = scatter.indices.size;
        return size <= kCompared ? 0 : size_t(2 * size) * sizeof(E);
    }

    template <class I>
    void run(const Slots &slots, const Arguments &a) const {
        visit_fold(reduction.fold, [&](auto fold) {
            slots.run([&](int64_t at, int64_t slot) {
                E *room = reinterpret_cast<E *>(a.workspace() + size_t(slot) * room_bytes(scatter));
                lines<decltype(fold)::value>(scatter.part(at), a.pointer<T>(0),
                                             a.pointer<const I>(2), a.pointer<const T>(3), room);
            });
        });
    }

private:
    template <Fold kFold, class I>
    void lines(const ScatterPart &part, T *data, const I *index, const T *update, E *room) const {
        int64_t to[kMostLines], at[kMostLines], from[kMostLines];
        scatter.output.offsets.fill(part.begin, part.lines(), to);
        scatter.indices.offsets.fill(part.begin, part.lines(), at);
        scatter.updates.offsets.fill(part.begin, part.lines(), from);
        for (int64_t i = 0; i < part.lines(); ++i)
            if (scatter.indices.size <= kCompared)
                compared<kFold>(data + to[i], index + at[i], update + from[i]);
            else
                sorted<kFold>(part, data + to[i], index + at[i], update + from[i], room);
    }

    // Folds updates into an element; `updates` returns how many it has added to a sum.
    template <Fold kFold, class F>
    void fold(T &element, const F &updates) const {
        C sum = reduction.include_self ? load_element<C>(element) : neutral<C>(kFold);
        const int64_t count = updates(sum) + reduction.include_self;
        store_element(element, reduction.mean ? average(sum, count) : sum);
    }

    template <Fold kFold, class I>
    void compared(T *to, const I *index, const T *update) const {
        const int64_t size = scatter.indices.size, step = scatter.indices.step;
        for (int64_t e = 0; e < size; ++e) {
            const I row = index[e * step];
            bool done = uint64_t(row) >= uint64_t(scatter.rows);
            for (int64_t k = 0; k < e; ++k) done = done || index[k * step] == row;
            if (done) continue;
            fold<kFold>(to[row * scatter.output.step], [&](C &sum) {
                int64_t count = 0;
                for (int64_t k = e; k < size; ++k)
                    if (index[k * step] == row) {
                        scatter.combine<kFold>(sum, update[k * scatter.updates.step]);
                        ++count;
                    }
                return count;
            });
        }
    }

    template <Fold kFold, class I>
    void sorted(const ScatterPart &part, T *to, const I *index, const T *update, E *entries) const {
        const int64_t size = scatter.indices.size, step = scatter.indices.step;
        int64_t held = 0;
        for (int64_t k = 0; k < size; ++k) {
            const int64_t row = int64_t(index[k * step]) - part.low;
            if (uint64_t(row) < uint64_t(part.rows)) entries[held++] = {uint32_t(row), k};
        }
        sort_entries(entries, entries + size, held);
        for (int64_t e = 0; e < held;) {
            const uint32_t row = entries[e].key();
            fold<kFold>(to[(part.low + row) * scatter.output.step], [&](C &sum) {
                const int64_t first = e;
                for (; e < held && entries[e].key() == row; ++e)
                    scatter.combine<kFold>(sum, update[entries[e].place() * scatter.updates.step]);
                return e - first;
            });
        }
    }
};

}  // namespace infini::cpu
