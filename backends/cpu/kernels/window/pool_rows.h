// Pooling, one row of outputs at a time: the rows of the input that a window covers are folded into
// one, element by element; then that row is folded into the outputs.
#pragma once

#include <algorithm>
#include <limits>

#include "convert.h"
#include "window/windows.h"

namespace infini::cpu {

enum class Fold { kSum, kMax, kMaxPlace };

inline constexpr int64_t kSpan = 1024;  // elements of a row buffer on the stack

// Outputs whose windows have the same size and are equally spaced.
struct Run {
    int64_t begin, end;  // outputs
    int64_t first, by;   // start of the first window, and the distance between windows
    int64_t count;       // elements per window
};
// Runs that share a row buffer: the elements [low, high) of the input. A window that is longer than
// the buffer has its own part.
struct Part {
    size_t first_run, last_run;
    int64_t low, high;
    int64_t count;  // elements per window, or -1 if the runs differ
};

// The runs and parts of the last dimension's windows.
struct Division {
    std::vector<Run> runs;
    std::vector<Part> parts;

    Division() = default;
    explicit Division(const Spans &spans) {
        int64_t outputs = spans.outputs();
        for (int64_t o = 0; o < outputs;) {
            Run run{o, o + 1, spans.first[size_t(o)], 0, spans.count[size_t(o)]};
            auto follows = [&](int64_t next) {
                const int64_t by = spans.first[size_t(next)] - spans.first[size_t(next - 1)];
                if (next == run.begin + 1) run.by = by;
                return spans.count[size_t(next)] == run.count && by == run.by && by >= 0 &&
                       next - run.begin < kSpan &&
                       (next - run.begin) * by + (run.count - 1) * spans.step < kSpan;
            };
            while (run.end < outputs && follows(run.end)) ++run.end;
            o = run.end;
            add(run, spans.step);
        }
    }

private:
    void add(const Run &run, int64_t step) {
        const int64_t reach = std::max<int64_t>(run.count - 1, 0) * step + (run.count > 0);
        const int64_t low = run.first, high = low + (run.end - 1 - run.begin) * run.by + reach;
        runs.push_back(run);
        if (!parts.empty()) {
            Part &part = parts.back();
            const int64_t joined_low = std::min(part.low, low), joined = std::max(part.high, high);
            if (joined - joined_low <= kSpan && run.end - runs[part.first_run].begin <= kSpan) {
                part.last_run = runs.size(), part.low = joined_low, part.high = joined;
                if (run.count != part.count) part.count = -1;
                return;
            }
        }
        parts.push_back({runs.size() - 1, runs.size(), low, high, run.count});
    }
};

// dst[i] = dst[i] + src[i], or the maximum of both.
template <Fold fold, class C>
inline void fold_row(C *__restrict dst, const C *__restrict src, int64_t n) {
    using V = Vec<C>;
    auto join = []<class X>(X a, X b) {
        if constexpr (fold == Fold::kSum)
            return X(a + b);
        else
            return maximum(a, b);
    };
    int64_t i = 0;
    for (; i + int64_t(kWidth<C>) <= n; i += int64_t(kWidth<C>))
        store(dst + i, join(load<V>(dst + i), load<V>(src + i)));
    for (; i < n; ++i) dst[i] = join(dst[i], src[i]);
}

// Where src[i] is larger than dst[i], or is the first NaN, replaces it and stores `id`.
template <class C, class I>
inline void fold_row_places(C *__restrict dst, I *__restrict ids, const C *__restrict src, I id,
                            int64_t n) {
    using V = Vec<C>;
    using M = Bits<V>;
    static_assert(sizeof(I) == sizeof(C));
    int64_t i = 0;
    for (; i + int64_t(kWidth<C>) <= n; i += int64_t(kWidth<C>)) {
        V a = load<V>(dst + i), b = load<V>(src + i);
        M better = (b > a) | ((b != b) & (a == a));
        store(dst + i, select(better, b, a));
        store(ids + i, select(better, broadcast<M>(id), load<M>(ids + i)));
    }
    for (; i < n; ++i)
        if (src[i] > dst[i] || (src[i] != src[i] && dst[i] == dst[i])) dst[i] = src[i], ids[i] = id;
}

// The fold of a dense row; sums have one partial sum per lane.
template <Fold fold, class C>
inline C fold_all(const C *src, int64_t n) {
    using V = Vec<C>;
    C result = fold == Fold::kSum ? C(0) : -std::numeric_limits<C>::infinity();
    int64_t i = 0;
    if (n >= int64_t(2 * kWidth<C>)) {
        V a = load<V>(src), b = load<V>(src + kWidth<C>);
        for (i = 2 * kWidth<C>; i + int64_t(2 * kWidth<C>) <= n; i += 2 * kWidth<C>) {
            V c = load<V>(src + i), d = load<V>(src + i + kWidth<C>);
            a = fold == Fold::kSum ? V(a + c) : maximum(a, c);
            b = fold == Fold::kSum ? V(b + d) : maximum(b, d);
        }
        if constexpr (fold == Fold::kSum)
            result = reduce_add(V(a + b));
        else
            result = reduce_max(maximum(a, b));
    }
    for (; i < n; ++i) result = fold == Fold::kSum ? C(result + src[i]) : maximum(result, src[i]);
    return result;
}

template <Fold fold, class X>
INFINI_SIMD X fold_pair(X a, X b) {
    if constexpr (fold == Fold::kSum)
        return X(a + b);
    else
        return maximum(a, b);
}

// to[o] = the fold of row[o * by + k * step] over k < count, with specialised loops for `by` of 1
// and 2. `known`: the count, or 0.
template <Fold fold, int known, class C>
inline void fold_windows(C *__restrict to, const C *__restrict row, int64_t outputs, int64_t by,
                         int64_t count, int64_t step) {
    using V = Vec<C>;
    constexpr int64_t width = int64_t(kWidth<C>);
    if (known) count = known;
    int64_t o = 0;
    if (by == 1)
        for (; o + width <= outputs; o += width) {
            V value = load<V>(row + o);
            for (int64_t k = 1; k < count; ++k)
                value = fold_pair<fold>(value, load<V>(row + o + k * step));
            store(to + o, value);
        }
    // The last pair may end outside the row.
    if (by == 2)
        for (; o + width < outputs; o += width) {
            auto evens = [](const C *p) {
                return __builtin_shuffle(load<V>(p), load<V>(p + width), iota<Bits<V>>() * 2);
            };
            V value = evens(row + 2 * o);
            for (int64_t k = 1; k < count; ++k)
                value = fold_pair<fold>(value, evens(row + 2 * o + k * step));
            store(to + o, value);
        }
    for (; o < outputs; ++o) {
        C value = row[o * by];
        for (int64_t k = 1; k < count; ++k) value = fold_pair<fold>(value, row[o * by + k * step]);
        to[o] = value;
    }
}

template <Fold fold, class C>
inline void fold_windows(C *__restrict to, const C *__restrict row, int64_t outputs, int64_t by,
                         int64_t count, int64_t step) {
    switch (count) {
        case 2:
            return fold_windows<fold, 2>(to, row, outputs, by, count, step);
        case 3:
            return fold_windows<fold, 3>(to, row, outputs, by, count, step);
        case 4:
            return fold_windows<fold, 4>(to, row, outputs, by, count, step);
        default:
            return fold_windows<fold, 0>(to, row, outputs, by, count, step);
    }
}

// The outputs of a run: to[o] is the fold of row[o * by + k * step] over k < count.
template <Fold fold, class C>
inline void fold_run(C *__restrict to, const C *__restrict row, int64_t outputs, int64_t by,
                     int64_t count, int64_t step) {
    if (count == 0) {
        std::fill(to, to + outputs,
                  fold == Fold::kSum ? C(0) : -std::numeric_limits<C>::infinity());
    } else if (step == 1 && count >= 4 * int64_t(kWidth<C>)) {
        for (int64_t o = 0; o < outputs; ++o) to[o] = fold_all<fold>(row + o * by, count);
    } else if (by > 2 && by <= 8 && outputs >= 4 && count > 1) {
        // Computes windows at every position, with contiguous vectors, and keeps each by-th.
        C every[kSpan];
        const int64_t places = (outputs - 1) * by + 1;
        fold_windows<fold>(every, row, places, 1, count, step);
        for (int64_t o = 0; o < outputs; ++o) to[o] = every[o * by];
    } else {
        fold_windows<fold>(to, row, outputs, by, count, step);
    }
}

// The largest elements of the windows at n adjacent positions, as `best_in` finds them one by one.
// Without `ids` all elements have the same one.
template <bool has_ids, class C, class I>
inline void best_windows(const C *row, const I *ids, int64_t n, int64_t count, int64_t step,
                         C *values, I *best_ids, I *places) {
    using V = Vec<C>;
    using M = Bits<V>;
    int64_t i = 0;
    for (; i + int64_t(kWidth<C>) <= n; i += int64_t(kWidth<C>)) {
        V value = load<V>(row + i);
        M id{}, place{};
        if constexpr (has_ids) id = load<M>(ids + i);
        for (int64_t k = 1; k < count; ++k) {
            const V next = load<V>(row + i + k * step);
            M better = (next > value) | ((next != next) & (value == value));
            if constexpr (has_ids) {
                const M next_id = load<M>(ids + i + k * step);
                const M equal = (next == value) | ((next != next) & (value != value));
                better |= equal & (next_id < id);
                id = select(better, next_id, id);
            }
            value = select(better, next, value);
            place = select(better, broadcast<M>(I(k)), place);
        }
        store(values + i, value);
        store(places + i, place);
        store(best_ids + i, id);
    }
    for (; i < n; ++i) {
        C value = row[i];
        I id = has_ids ? ids[i] : I(0), place = 0;
        for (int64_t k = 1; k < count; ++k) {
            const C next = row[i + k * step];
            const I next_id = has_ids ? ids[i + k * step] : I(0);
            const bool equal = next == value || (next != next && value != value);
            const bool larger = next > value || (next != next && value == value);
            if (larger || (equal && next_id < id)) value = next, id = next_id, place = I(k);
        }
        values[i] = value, best_ids[i] = id, places[i] = place;
    }
}

// The largest element of a window (the smallest id among equals), and its position; `at` is -1.
template <class C, class I>
inline void best_in(const C *row, const I *ids, int64_t count, int64_t step, C &value, I &id,
                    int64_t &at) {
    using V = Vec<C>;
    using M = Bits<V>;
    constexpr int64_t kWide = int64_t(kWidth<C>);
    auto fold = [&](C next, I next_id, int64_t k) {
        const bool nan = next != next, was = value != value;
        const bool better = at < 0 || next > value || (nan && !was);
        const bool equal = next == value || (nan && was);
        if (better || (equal && (next_id < id || (next_id == id && k < at))))
            value = next, id = next_id, at = k;
    };
    int64_t k = 0;
    if (step == 1 && count >= 2 * kWide) {
        // The best of each lane, then of all lanes.
        V best = load<V>(row);
        M best_ids = load<M>(ids), first{};
        for (k = kWide; k + kWide <= count; k += kWide) {
            const V next = load<V>(row + k);
            const M next_ids = load<M>(ids + k);
            const M equal = (next == best) | ((next != next) & (best != best));
            const M better =
                (next > best) | ((next != next) & (best == best)) | (equal & (next_ids < best_ids));
            best = select(better, next, best);
            best_ids = select(better, next_ids, best_ids);
            first = select(better, broadcast<M>(I(k)), first);
        }
        for (int64_t lane = 0; lane < kWide; ++lane)
            fold(best[lane], best_ids[lane], int64_t(first[lane]) + lane);
    }
    for (; k < count; ++k) fold(row[k * step], ids[k * step], k);
}

}  // namespace infini::cpu
