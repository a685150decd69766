// cumsum and cumprod. 16-bit floats accumulate in F32, others in F64.
#include "convert.h"
#include "functions.h"
#include "kernel.h"
#include "scan/bands.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 16384;  // elements of a long line per task

// C: the compute type; T, R: the storage types of inputs and results.
template <class C, class T, class R, class Combine>
void scan_line(const T *from, int64_t from_step, R *to, int64_t to_step, int64_t n, C running,
               Combine combine) {
    for (int64_t i = 0; i < n; ++i) {
        running = combine(running, load_element<C>(from[i * from_step]));
        store_element(to[i * to_step], running);
    }
}

// The sums of the first i + 1 lanes.
template <size_t by = 1, class V>
INFINI_SIMD V sums_of_first(V x) {
    if constexpr (by == kLanes<V>) {
        return x;
    } else {
        using M = Bits<V>;
        constexpr Element<M> kCount = Element<M>(kLanes<V>), kBy = Element<M>(by);
        const M lane = iota<M>();
        // Lanes that have no neighbour so far to the left take one of the zeros.
        const M from = select(lane < broadcast<M>(kBy), lane + kCount, lane - kBy);
        return sums_of_first<by * 2>(add(x, V(__builtin_shuffle(x, V{}, from))));
    }
}

// Sums along contiguous elements. Vectors whose own sums are not all finite are summed element by
// element, so that the order of additions does not change what overflows.
template <class C>
C scan_values(C *x, int64_t n, C running) {
    using V = Vec<C>;
    constexpr int64_t kCount = int64_t(kWidth<C>);
    int64_t i = 0;
    for (; i + kCount <= n; i += kCount) {
        const V sums = sums_of_first(load<V>(x + i));
        if constexpr (std::is_floating_point_v<C>) {
            if (!all(sums - sums == V{})) {
                for (int64_t k = i; k < i + kCount; ++k) x[k] = running = add(running, x[k]);
                continue;
            }
        }
        store(x + i, add(sums, broadcast<V>(running)));
        running = add(running, C(sums[kCount - 1]));
    }
    for (; i < n; ++i) x[i] = running = add(running, x[i]);
    return running;
}

template <class C, class T, class R>
void sum_line(const T *from, R *to, int64_t n, C running) {
    constexpr int64_t kBlock = 512;
    C block[kBlock];
    for (int64_t i = 0, count; i < n; i += count) {
        count = std::min(kBlock, n - i);
        load_block(block, from + i, size_t(count));
        running = scan_values(block, count, running);
        store_block(to + i, block, size_t(count));
    }
}

template <class C, class T>
C sum_of(const T *from, int64_t step, int64_t n) {
    C sum = C(0);
    if (step != 1) {
        for (int64_t i = 0; i < n; ++i) sum = add(sum, load_element<C>(from[i * step]));
        return sum;
    }
    using V = Vec<C>;
    constexpr int64_t kBlock = 512, kCount = int64_t(kWidth<C>);
    C block[kBlock];
    V sums = {};
    for (int64_t i = 0, count; i < n; i += count) {
        count = std::min(kBlock, n - i);
        load_block(block, from + i, size_t(count));
        int64_t k = 0;
        for (; k + kCount <= count; k += kCount) sums = add(sums, load<V>(block + k));
        for (; k < count; ++k) sum = add(sum, block[k]);
    }
    return add(sum, reduce(sums, [](auto a, auto b) { return add(a, b); }));
}

template <class C, class T, class R, class Combine>
void scan_band(const T *from, int64_t from_step, R *to, int64_t to_step, int64_t n, int64_t width,
               C start, Combine combine) {
    C running[kBand], line[kBand];
    std::fill_n(running, width, start);
    for (int64_t i = 0; i < n; ++i) {
        load_block(line, from + i * from_step, size_t(width));
        for (int64_t k = 0; k < width; ++k) running[k] = combine(running[k], line[k]);
        store_block(to + i * to_step, running, size_t(width));
    }
}

template <class C, class T, class R, bool product>
std::unique_ptr<Plan> plan_as(const Bands<2> &bands) {
    const auto combine = [](C a, C b) { return product ? mul(a, b) : add(a, b); };
    // One long line: threads first sum its chunks, then scan them from these sums. Not for
    // products: a chunk's product could overflow although a preceding 0 makes the result 0.
    const int64_t threads = int64_t(thread_count());
    int64_t pieces = 1;
    if (!product && threads > 1 && bands.number() == 1 && bands[0].width == 1)
        pieces = std::clamp<int64_t>(bands.size / kPiece, 1, 4 * threads);

    const int64_t to_step = bands.step[0], from_step = bands.step[1];
    const auto scan = [=](const T *from, R *to, int64_t n, C start) {
        if (!product && to_step == 1 && from_step == 1)
            sum_line<C>(from, to, n, start);
        else
            scan_line<C>(from, from_step, to, to_step, n, start, combine);
    };

    auto run = [=](const Arguments &a) {
        R *result = a.pointer<R>(0);
        const T *data = a.pointer<T>(1);
        if (pieces == 1) {
            parallel_for(size_t(bands.number()), bands.grain(), [&](size_t begin, size_t end) {
                for (size_t index = begin; index < end; ++index) {
                    const Band<2> band = bands[int64_t(index)];
                    R *to = result + band.at[0];
                    const T *from = data + band.at[1];
                    const C start = C(product ? 1 : 0);
                    if (band.width == 1)
                        scan(from, to, bands.size, start);
                    else
                        scan_band<C>(from, from_step, to, to_step, bands.size, band.width, start,
                                     combine);
                }
            });
            return;
        }
        C *before = reinterpret_cast<C *>(a.workspace());
        auto first = [&](int64_t piece) { return bands.size * piece / pieces; };
        auto each_piece = [&](auto body) {
            parallel_for(size_t(pieces), 1, [&](size_t begin, size_t end) {
                for (int64_t piece = int64_t(begin); piece < int64_t(end); ++piece) body(piece);
            });
        };
        each_piece([&](int64_t piece) {
            const int64_t begin = first(piece);
            before[piece] =
                sum_of<C>(data + begin * from_step, from_step, first(piece + 1) - begin);
        });
        C sum = C(0);
        for (int64_t piece = 0; piece < pieces; ++piece) {
            const C mine = before[piece];
            before[piece] = sum;
            sum = combine(sum, mine);
        }
        each_piece([&](int64_t piece) {
            const int64_t begin = first(piece);
            scan(data + begin * from_step, result + begin * to_step, first(piece + 1) - begin,
                 before[piece]);
        });
    };
    return make_plan(run, pieces > 1 ? size_t(pieces) * sizeof(C) : 0);
}

template <bool product>
std::unique_ptr<Plan> plan_cumulative(const Operation &operation) {
    const Bands<2> bands({operation.tensor(0), operation.tensor(1)}, int(operation.integer(0)));
    std::unique_ptr<Plan> plan;
    visit_dtype(operation.tensor(1).dtype, [&]<class T>(Type<T>) {
        if constexpr (kIsFloat<T>) {
            using C = std::conditional_t<sizeof(T) <= 2, float, double>;
            plan = plan_as<C, T, T, product>(bands);
        } else {
            plan = plan_as<int64_t, T, int64_t, product>(bands);
        }
    });
    return plan;
}

std::unique_ptr<Plan> plan_sums_or_products(const Operation &operation) {
    return operation.is("cumprod") ? plan_cumulative<true>(operation)
                                   : plan_cumulative<false>(operation);
}

INFINI_KERNEL("cumulative", plan_sums_or_products);

}  // namespace
}  // namespace infini::cpu
