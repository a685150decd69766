// Pooling, a row of outputs at a time: the rows of the input that a window reaches are folded into
// one, element by element; then the outputs are folded out of that one row.
#pragma once

#include <algorithm>
#include <limits>

#include "convert.h"
#include "window/windows.h"

namespace infini::cpu {

enum class Fold { kSum, kMax, kMaxPlace };

inline constexpr int64_t kSpan = 1024;  // elements of a row that are on the stack

// Outputs whose windows have the same size and lie evenly.
struct Run {
    int64_t begin, end;  // outputs
    int64_t first, by;   // where the first window begins, and how far apart they lie
    int64_t count;       // elements of a window
};
// Runs that share a row: the elements [low, high) of the input. A window that is longer than a row
// on the stack is a part of its own.
struct Part {
    size_t first_run, last_run;
    int64_t low, high;
};

// Runs and parts of the last dimension's windows.
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
                return;
            }
        }
        parts.push_back({runs.size() - 1, runs.size(), low, high});
    }
};

// dst[i] = dst[i] + src[i], or the larger of both.
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

// Where src[i] is larger than dst[i], or the first NaN: takes it, and notes `id`.
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

// The fold of a dense row, for sums with as many partial sums as there are lanes.
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

// Outputs of a run: to[o] is the fold of row[o * by + k * step] over k < count.
template <Fold fold, class C>
inline void fold_run(C *__restrict to, const C *__restrict row, int64_t outputs, int64_t by,
                     int64_t count, int64_t step) {
    if (count == 0) {
        std::fill(to, to + outputs,
                  fold == Fold::kSum ? C(0) : -std::numeric_limits<C>::infinity());
        return;
    }
    auto with = [&](auto known) {  // strides of 1 and 2 become vectors
        const int64_t stride = known.value ? known.value : by;
        for (int64_t o = 0; o < outputs; ++o) to[o] = row[o * stride];
        for (int64_t k = 1; k < count; ++k) {
            const C *next = row + k * step;
            for (int64_t o = 0; o < outputs; ++o)
                to[o] = fold == Fold::kSum ? C(to[o] + next[o * stride])
                                           : maximum(to[o], next[o * stride]);
        }
    };
    if (outputs < 8) {
        for (int64_t o = 0; o < outputs; ++o) {
            C value = row[o * by];
            for (int64_t k = 1; k < count; ++k)
                value = fold == Fold::kSum ? C(value + row[o * by + k * step])
                                           : maximum(value, row[o * by + k * step]);
            to[o] = value;
        }
    } else if (by == 1) {
        with(std::integral_constant<int64_t, 1>());
    } else if (by == 2) {
        with(std::integral_constant<int64_t, 2>());
    } else {
        with(std::integral_constant<int64_t, 0>());
    }
}

// The largest of a window of a row, the one of the smallest id if they are equal, and its place.
template <class C, class I>
inline void best_in(const C *row, const I *ids, int64_t count, int64_t step, C &value, I &id,
                    int64_t &at) {
    for (int64_t k = 0; k < count; ++k) {
        const C next = row[k * step];
        const I next_id = ids[k * step];
        const bool nan = next != next, was = value != value;
        const bool better = at < 0 || next > value || (nan && !was);
        if (better || ((next == value || (nan && was)) && next_id < id))
            value = next, id = next_id, at = k;
    }
}

}  // namespace infini::cpu
