// max_pool, avg_pool and their adaptive forms, with and without the indices of the maxima.
#include <functional>

#include "floats.h"
#include "threads.h"
#include "window/pool_rows.h"

namespace infini::cpu {
namespace {

struct Pool {
    Image x, y;
    Image places;  // of the indices, if requested
    Spans spans[kImageDims];
    int64_t divisor = 0;  // if not 0, replaces the windows' own divisors
    Division division;

    void prepare(bool places) {
        merge();
        if (!places) join_channels();
        division = Division(spans[2]);
        const auto &divisors = spans[2].divisor;
        even_ = std::adjacent_find(divisors.begin(), divisors.end(), std::not_equal_to<>()) ==
                divisors.end();
    }

    // If windows cover the whole last dimension, it is merged with the dimension before it.
    void merge() {
        for (int again = 0; again < 2; ++again) {
            const Spans &last = spans[2], &before = spans[1];
            if (last.outputs() != 1 || last.first[0] != 0 || last.count[0] != x.size[2] ||
                last.step != 1 || before.step != 1 || x.stride[1] != x.size[2] * x.stride[2])
                return;
            const int64_t width = x.size[2], by = last.divisor[0];
            Spans joined = before;
            for (int64_t &first : joined.first) first *= width;
            for (int64_t &count : joined.count) count *= width;
            for (int64_t &each : joined.divisor) each *= by;
            spans[2] = joined, spans[1] = spans[0], spans[0] = Spans();
            x.size[2] *= x.size[1];
            for (Image *image : {&y, &places}) {
                image->size[2] = image->size[1], image->stride[2] = image->stride[1];
                image->size[1] = image->size[0], image->stride[1] = image->stride[0];
                image->size[0] = 1;
            }
            x.size[1] = x.size[0], x.stride[1] = x.stride[0], x.size[0] = 1;
        }
    }

    // Short rows that are adjacent in memory become one row: a row costs more than its elements.
    void join_channels() {
        constexpr int64_t kShort = 128;
        for (Image *image : {&x, &y}) {
            if (image->size[0] * image->size[1] != 1) return;
            if (image->channel_stride != image->size[2] * image->stride[2]) return;
        }
        if (x.size[2] > kShort || y.size[2] > kShort || y.size[2] == 0) return;
        if (x.batch_stride == x.channels * x.channel_stride &&
            y.batch_stride == y.channels * y.channel_stride)
            x.channels *= x.batch, y.channels *= y.batch, x.batch = y.batch = 1;
        int64_t some = kSpan / std::max(x.size[2], y.size[2]);
        while (some > 1 && x.channels % some != 0) --some;
        if (some <= 1) return;
        const Spans one = spans[2];
        for (int64_t channel = 1; channel < some; ++channel)
            for (size_t o = 0; o < size_t(one.outputs()); ++o)
                spans[2].add(one.first[o] + channel * x.size[2], one.count[o], one.divisor[o]);
        for (Image *image : {&x, &y}) {
            image->size[2] *= some, image->channel_stride *= some;
            image->channels /= some;
        }
    }

    template <Fold fold, class T>
    void run(T *to, int64_t *found, const T *from) const {
        if (y.batch * y.channels * y.elements() == 0) return;
        const int64_t rows = y.batch * y.channels * y.size[0] * y.size[1];
        const int64_t parts = int64_t(division.parts.size());
        const Part &some = division.parts[size_t(parts / 2)];
        const int64_t middle = y.size[1] / 2;
        const int64_t work = (some.high - some.low + 1) * (spans[1].count[size_t(middle)] + 1) *
                             (spans[0].count[size_t(y.size[0] / 2)] + 1);
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / std::max<int64_t>(work, 1)));
        parallel_for(size_t(rows * parts), grain, [&](size_t begin, size_t end) {
            RowParts at(y, parts, int64_t(begin));
            for (size_t left = end - begin; left > 0; --left, ++at)
                row<fold>(to, found, from, at, division.parts[size_t(at.part)]);
        });
    }

    template <Fold fold, class T>
    void row(T *to, int64_t *found, const T *from, const RowParts &at, const Part &part) const {
        const Place p{at.o0, at.o1};
        const int64_t channel = at.channel, image = at.batch;
        to += image * y.batch_stride + channel * y.channel_stride + p.o0 * y.stride[0] +
              p.o1 * y.stride[1];
        from += image * x.batch_stride + channel * x.channel_stride;
        if constexpr (fold == Fold::kMaxPlace) {
            found += image * places.batch_stride + channel * places.channel_stride +
                     p.o0 * places.stride[0] + p.o1 * places.stride[1];
            with_places(to, found, from, p, part);
        } else if (part.high - part.low > kSpan) {
            long_window<fold>(to, from, p, part);
        } else {
            several<fold>(to, from, p, part);
        }
    }

private:
    bool even_ = false;  // whether all outputs of a row have the same divisor

    struct Place {
        int64_t o0, o1;  // of a row of outputs
    };
    template <class T>
    using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

    // Calls body(row of the input, its index) for the input rows that the windows of a row cover.
    template <class T, class Body>
    void each_row(const T *from, Place p, const Body &body) const {
        int64_t id = 0;
        for (int64_t d = 0; d < spans[0].count[size_t(p.o0)]; ++d)
            for (int64_t h = 0; h < spans[1].count[size_t(p.o1)]; ++h) {
                const int64_t at0 = spans[0].first[size_t(p.o0)] + d * spans[0].step;
                const int64_t at1 = spans[1].first[size_t(p.o1)] + h * spans[1].step;
                body(from + at0 * x.stride[0] + at1 * x.stride[1], id++);
            }
    }

    // Rows in the compute type: in place, or converted to the buffer.
    template <class T, class C>
    static const C *numbers(const T *from, int64_t n, int64_t stride, C *buffer) {
        if constexpr (std::is_same_v<T, C>)
            if (stride == 1) return from;
        load_strided(buffer, from, size_t(n), stride);
        return buffer;
    }

    // Folds elements of all rows: n of them, starting at `low`, `step` apart.
    template <Fold fold, class T, class C>
    const C *column(const T *from, Place p, int64_t low, int64_t n, int64_t step, C *folded,
                    C *buffer) const {
        const C *result = nullptr;
        each_row(from, p, [&](const T *row, int64_t id) {
            const C *next =
                numbers(row + low * x.stride[2], n, step * x.stride[2], id ? buffer : folded);
            if (id == 0) {
                result = next;
                return;
            }
            if (result != folded) std::copy(result, result + n, folded), result = folded;
            fold_row<fold>(folded, next, n);
        });
        if (!result) {
            std::fill(folded, folded + n,
                      fold == Fold::kSum ? C(0) : -std::numeric_limits<C>::infinity());
            result = folded;
        }
        return result;
    }

    template <class C>
    void divide(C *values, int64_t first, int64_t n, Place p) const {
        const int64_t rows = spans[0].divisor[size_t(p.o0)] * spans[1].divisor[size_t(p.o1)];
        const int64_t *by = spans[2].divisor.data() + first;
        if (divisor || even_) {
            const C all = C(divisor ? divisor : rows * by[0]);
            for (int64_t o = 0; o < n; ++o) values[o] /= all;
            return;
        }
        for (int64_t o = 0; o < n; ++o) values[o] /= C(rows * by[o]);
    }

    template <Fold fold, class T>
    void several(T *to, const T *from, Place p, const Part &part) const {
        using C = Computed<T>;
        C folded[kSpan], buffer[kSpan], values[kSpan];
        const C *row = column<fold>(from, p, part.low, part.high - part.low, 1, folded, buffer);
        const int64_t first = division.runs[part.first_run].begin;
        const int64_t last = division.runs[part.last_run - 1].end;
        const int64_t positions = part.high - part.low - (part.count - 1) * spans[2].step;
        // Vectors of windows at all positions take less time than many short runs.
        const bool everywhere =
            part.last_run - part.first_run > 1 && part.count > 0 && positions <= 8 * (last - first);
        if (everywhere) {
            C every[kSpan];
            fold_windows<fold>(every, row, positions, 1, part.count, spans[2].step);
            for (int64_t o = first; o < last; ++o)
                values[o - first] = every[spans[2].first[size_t(o)] - part.low];
        }
        for (size_t i = part.first_run; i < part.last_run && !everywhere; ++i) {
            const Run &run = division.runs[i];
            fold_run<fold>(values + (run.begin - first), row + (run.first - part.low),
                           run.end - run.begin, run.by, run.count, spans[2].step);
        }
        if (fold == Fold::kSum) divide(values, first, last - first, p);
        store_strided(to + first * y.stride[2], values, size_t(last - first), y.stride[2]);
    }

    // Folds one output of many elements, a chunk at a time.
    template <Fold fold, class T>
    void long_window(T *to, const T *from, Place p, const Part &part) const {
        using C = Computed<T>;
        C folded[kSpan], buffer[kSpan];
        const Run &run = division.runs[part.first_run];
        const int64_t step = spans[2].step;
        double total = 0;
        C best = -std::numeric_limits<C>::infinity();
        for (int64_t k = 0; k < run.count; k += kSpan) {
            const int64_t n = std::min(kSpan, run.count - k);
            const C *row = column<fold>(from, p, run.first + k * step, n, step, folded, buffer);
            const C value = fold_all<fold>(row, n);
            if (fold == Fold::kSum)
                total += double(value);
            else
                best = maximum(best, value);
        }
        if (fold == Fold::kSum) divide(&total, run.begin, 1, p);
        if (fold == Fold::kSum)
            store_element(to[run.begin * y.stride[2]], total);
        else
            store_element(to[run.begin * y.stride[2]], best);
    }

    template <class T>
    void with_places(T *to, int64_t *found, const T *from, Place p, const Part &part) const {
        using C = Computed<T>;
        using I = typename IntegerOf<sizeof(C)>::type;
        C folded[kSpan], buffer[kSpan];
        I ids[kSpan];
        const int64_t step = spans[2].step;
        // Folds n elements of all rows, starting at `low`, `by` apart.
        auto fold = [&](int64_t low, int64_t n, int64_t by) {
            std::fill(ids, ids + n, I(0));
            std::fill(folded, folded + n, -std::numeric_limits<C>::infinity());
            each_row(from, p, [&](const T *row, int64_t id) {
                const C *next = numbers(row + low * x.stride[2], n, by * x.stride[2], buffer);
                if (id == 0)
                    std::copy(next, next + n, folded);
                else
                    fold_row_places(folded, ids, next, I(id), n);
            });
        };
        const int64_t planes = spans[0].count[size_t(p.o0)], rows = spans[1].count[size_t(p.o1)];
        const bool nothing = planes * rows == 0, is_one_row = planes * rows == 1;
        auto put = [&](int64_t o, C value, I id, int64_t place) {
            store_element(to[o * y.stride[2]], value);
            // A division takes longer than the window.
            const int64_t plane = planes > 1 ? id / std::max<int64_t>(rows, 1) : 0;
            const int64_t at0 = spans[0].first[size_t(p.o0)] + plane * spans[0].step;
            const int64_t at1 = spans[1].first[size_t(p.o1)] + (id - plane * rows) * spans[1].step;
            found[o * places.stride[2]] =
                place < 0 ? 0 : (at0 * x.size[1] + at1) * x.size[2] + place;
        };
        if (part.high - part.low <= kSpan) {
            fold(part.low, part.high - part.low, 1);
            // The windows at all positions from `low` on, in vectors, of which outputs are taken.
            C values[kSpan];
            I best_ids[kSpan], steps[kSpan];
            auto every = [&](int64_t low, int64_t positions, int64_t count) {
                const C *row = folded + (low - part.low);
                const I *row_ids = ids + (low - part.low);
                if (is_one_row)
                    best_windows<false>(row, row_ids, positions, count, step, values, best_ids,
                                        steps);
                else
                    best_windows<true>(row, row_ids, positions, count, step, values, best_ids,
                                       steps);
            };
            auto take = [&](int64_t o, int64_t first, int64_t i) {
                put(o, values[i], best_ids[i], first + int64_t(steps[i]) * step);
            };
            constexpr int64_t kMostApart = 2 * int64_t(kWidth<C>);
            // Whether vectors along each window take less time than those of adjacent windows.
            auto are_long = [&](int64_t count, int64_t positions, int64_t outputs) {
                return step == 1 && count >= 2 * int64_t(kWidth<C>) &&
                       (positions < int64_t(kWidth<C>) || positions >= 4 * outputs);
            };
            const int64_t outputs =
                division.runs[part.last_run - 1].end - division.runs[part.first_run].begin;
            const int64_t positions = part.high - part.low - (part.count - 1) * step;
            if (!nothing && part.count > 0 && positions <= kMostApart * outputs &&
                !are_long(part.count, positions, outputs)) {
                every(part.low, positions, part.count);
                const int64_t begin = division.runs[part.first_run].begin;
                for (int64_t o = begin; o < begin + outputs; ++o) {
                    const int64_t first = spans[2].first[size_t(o)];
                    take(o, first, first - part.low);
                }
                return;
            }
            for (size_t i = part.first_run; i < part.last_run; ++i) {
                const Run &run = division.runs[i];
                const int64_t count = run.end - run.begin;
                const int64_t all_positions = (count - 1) * run.by + 1;
                if (!nothing && run.count > 0 && count >= 4 && run.by <= kMostApart &&
                    !are_long(run.count, all_positions, count)) {
                    every(run.first, all_positions, run.count);
                    for (int64_t k = 0; k < count; ++k)
                        take(run.begin + k, run.first + k * run.by, k * run.by);
                    continue;
                }
                for (int64_t o = run.begin; o < run.end; ++o) {
                    const int64_t first = run.first + (o - run.begin) * run.by;
                    C value = -std::numeric_limits<C>::infinity();
                    I id = 0;
                    int64_t at = -1;
                    best_in(folded + (first - part.low), ids + (first - part.low), run.count, step,
                            value, id, at);
                    put(o, value, id, at < 0 || nothing ? -1 : first + at * step);
                }
            }
            return;
        }
        const Run &run = division.runs[part.first_run];
        C value = -std::numeric_limits<C>::infinity();
        I id = 0;
        int64_t place = -1;
        for (int64_t k = 0; k < run.count; k += kSpan) {
            fold(run.first + k * step, std::min(kSpan, run.count - k), step);
            C next = -std::numeric_limits<C>::infinity();
            I next_id = 0;
            int64_t at = -1;
            best_in(folded, ids, std::min(kSpan, run.count - k), 1, next, next_id, at);
            const bool nan = next != next, was = value != value;
            if (place < 0 || next > value || (nan && !was) ||
                ((next == value || (nan && was)) && next_id < id))
                value = next, id = next_id, place = run.first + (k + at) * step;
        }
        put(run.begin, value, id, nothing ? -1 : place);
    }
};

template <Fold fold>
std::unique_ptr<Plan> plan_of(Pool pool) {
    pool.prepare(fold == Fold::kMaxPlace);
    return make_plan([pool = std::move(pool)](const Arguments &a) {
        constexpr bool kPlaces = fold == Fold::kMaxPlace;
        int64_t *found = kPlaces ? a.pointer<int64_t>(1) : nullptr;
        auto run = [&]<class T>(Type<T>) {
            pool.template run<fold>(a.pointer<T>(0), found, a.pointer<const T>(kPlaces ? 2 : 1));
        };
        visit_float(pool.x.dtype, run);
    });
}

Pool tensors_of(const Operation &operation, bool places) {
    Pool pool;
    pool.y = Image(operation.tensor(0));
    pool.places = Image(operation.tensor(places ? 1 : 0));
    pool.x = Image(operation.tensor(places ? 2 : 1));
    check_image_sizes(operation, pool.x.size, pool.y.size);
    return pool;
}

// Sliding windows; `mean`: divides the sums.
void slide(const Operation &operation, Pool &pool, bool mean) {
    const SlidingWindow w(operation, mean, pool.x.size, pool.y.size);
    for (int d = 0; d < kImageDims; ++d) {
        const int64_t size = pool.x.size[d], kernel = w.kernel[d], stride = w.stride[d];
        const int64_t pad = w.pad[d], gap = w.dilation[d];
        Spans &spans = pool.spans[d];
        spans.clear();
        spans.step = gap;
        for (int64_t o = 0; o < pool.y.size[d]; ++o) {
            const int64_t start = o * stride - pad;
            const int64_t before = start < 0 ? (gap - 1 - start) / gap : 0;
            const int64_t end = start < size ? std::min(kernel, (size - start + gap - 1) / gap) : 0;
            const int64_t count = std::max<int64_t>(end - before, 0);
            const int64_t covered = std::min(start + kernel, size + pad) - start;
            spans.add(count ? start + before * gap : 0, count, w.counts_padding ? covered : count);
        }
    }
}

// Adaptive bins that cover each dimension.
void divide_up(const Operation &operation, Pool &pool, int rank) {
    check_output_size(operation, 0, rank, pool.y.size);
    for (int d = kImageDims - rank; d < kImageDims; ++d) {
        const int64_t count = pool.y.size[d], size = pool.x.size[d];
        Spans &spans = pool.spans[d];
        spans.clear();
        for (int64_t o = 0; o < count; ++o) {
            const int64_t begin = o * size / count, end = ((o + 1) * size + count - 1) / count;
            spans.add(begin, end - begin, end - begin);
        }
    }
}

template <Fold fold>
std::unique_ptr<Plan> plan_windows(const Operation &operation) {
    Pool pool = tensors_of(operation, fold == Fold::kMaxPlace);
    constexpr bool kMean = fold == Fold::kSum;
    slide(operation, pool, kMean);
    if (kMean) pool.divisor = operation.integer(6);
    return plan_of<fold>(std::move(pool));
}

template <Fold fold>
std::unique_ptr<Plan> plan_bins(const Operation &operation) {
    Pool pool = tensors_of(operation, fold == Fold::kMaxPlace);
    divide_up(operation, pool, int(operation.integer(1)));
    return plan_of<fold>(std::move(pool));
}

std::unique_ptr<Plan> plan_pool(const Operation &operation) {
    if (operation.is("max_pool")) return plan_windows<Fold::kMax>(operation);
    if (operation.is("max_pool_with_indices")) return plan_windows<Fold::kMaxPlace>(operation);
    if (operation.is("avg_pool")) return plan_windows<Fold::kSum>(operation);
    if (operation.is("adaptive_max_pool")) return plan_bins<Fold::kMax>(operation);
    if (operation.is("adaptive_max_pool_with_indices"))
        return plan_bins<Fold::kMaxPlace>(operation);
    return plan_bins<Fold::kSum>(operation);
}

INFINI_KERNEL("pool", plan_pool);

}  // namespace
}  // namespace infini::cpu
