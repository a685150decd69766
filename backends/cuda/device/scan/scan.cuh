// Scans (cumulative sums, products, maxima, ...) along lines.
#pragma once

#include "offsets.h"

namespace infini {

struct ScanParams {
    const void *x;
    void *y;
    int64_t *places;          // indices, for cummax and cummin
    void *parts;              // totals of chunks: [line][chunk], or across lines [chunk][line]
    Offsets from, to, stood;  // offsets of the lines
    int64_t from_step, to_step, stood_step;
    int64_t lines, size;
    int64_t piece;   // elements per chunk
    int32_t pieces;  // per line
    int32_t vector;  // neighbours can be read and written together
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// A scan operation has a state, functions to create one from an element and to combine two
// consecutive ones, and an output; elements have type T, results type R. The host selects it:
// `using Running = RunningSum<T, R>;`.
namespace infini {

// Floats of up to 16 bits are summed in F32, others in F64.
template <class T, class R>
struct RunningSum {
    using State = Choose<kIsFloat<T>, Choose<sizeof(T) <= 2, float, double>, uint64_t>;
    static INFINI_DEVICE State identity() { return State(0); }
    static INFINI_DEVICE State begin(T x, int64_t) {
        if constexpr (kIsFloat<T>)
            return convert<State>(x);
        else
            return State(convert<int64_t>(x));  // wraps
    }
    static INFINI_DEVICE State combine(State a, State b) { return a + b; }
    static INFINI_DEVICE R value(State a) {
        if constexpr (kIsFloat<T>)
            return convert<R>(a);
        else
            return R(a);
    }
    static INFINI_DEVICE int64_t place(State) { return 0; }
};

// A product of floats as a fraction and an exponent. Otherwise the product of a chunk could
// overflow or underflow although the cumulative products do not.
struct Scaled {
    double fraction;  // 1 <= |fraction| < 2, or 0, infinite, NaN
    int64_t exponent;

    static INFINI_DEVICE double power_of_two(int64_t e) {
        return bit_cast<double>(uint64_t(e + 1023) << 52);
    }
    // From a number large enough to have a full-precision fraction.
    static INFINI_DEVICE Scaled of(double x, int64_t exponent) {
        const uint64_t bits = bit_cast<uint64_t>(x);
        const int power = int(bits >> 52 & 0x7ff);
        if (power == 0 || power == 0x7ff) return {x, 0};
        return {bit_cast<double>((bits & 0x800fffffffffffff) | 0x3ff0000000000000),
                exponent + power - 1023};
    }
};

template <class T, class R, bool = kIsFloat<T>>
struct RunningProduct {
    using State = Scaled;
    static INFINI_DEVICE State identity() { return {1.0, 0}; }
    static INFINI_DEVICE State begin(T x, int64_t) {
        const double value = convert<double>(x);
        const bool tiny = value < 0x1p-1000 && value > -0x1p-1000;
        return tiny ? Scaled::of(value * 0x1p100, -100) : Scaled::of(value, 0);
    }
    static INFINI_DEVICE State combine(State a, State b) {
        return Scaled::of(a.fraction * b.fraction, a.exponent + b.exponent);
    }
    static INFINI_DEVICE R value(State a) {
        // Two factors, as the power of two may be out of range; only the second one rounds.
        constexpr int64_t kMost = 2040;
        const int64_t e = a.exponent < kMost ? a.exponent > -kMost ? a.exponent : -kMost : kMost;
        return convert<R>(a.fraction * Scaled::power_of_two(e / 2) *
                          Scaled::power_of_two(e - e / 2));
    }
    static INFINI_DEVICE int64_t place(State) { return 0; }
};
template <class T, class R>
struct RunningProduct<T, R, false> {
    using State = uint64_t;
    static INFINI_DEVICE State identity() { return 1; }
    static INFINI_DEVICE State begin(T x, int64_t) { return State(convert<int64_t>(x)); }
    static INFINI_DEVICE State combine(State a, State b) { return a * b; }
    static INFINI_DEVICE R value(State a) { return R(a); }
    static INFINI_DEVICE int64_t place(State) { return 0; }
};

// The extreme value so far and its index, the last of equal ones; NaN wins.
template <class T, class R, bool least>
struct RunningExtreme {
    using C = Choose<kSame<T, double>, double,
                     Choose<kIsFloat<T>, float, Choose<kSame<T, boolean>, int32_t, T>>>;
    struct alignas(16) State {
        T held;
        int64_t at;  // -1: none
    };
    static INFINI_DEVICE State identity() { return {T{}, -1}; }
    static INFINI_DEVICE State begin(T x, int64_t at) { return {x, at}; }
    static INFINI_DEVICE State combine(State a, State b) {
        const C x = convert<C>(b.held), best = convert<C>(a.held);
        const bool reaches = (least ? x <= best : x >= best) || x != x;
        return b.at >= 0 && (a.at < 0 || reaches) ? b : a;
    }
    static INFINI_DEVICE R value(State a) { return a.held; }
    static INFINI_DEVICE int64_t place(State a) { return a.at; }
};

// The logarithm of a sum of exponentials: the maximum, and the sum relative to it, which avoids
// overflow.
template <class T, class R>
struct RunningLogSum {
    using C = Choose<kSame<T, double>, double, float>;
    struct State {
        C greatest, sum;
    };
    static INFINI_DEVICE State identity() { return {-infinity<C>(), C(0)}; }
    static INFINI_DEVICE State begin(T x, int64_t) {
        const C value = convert<C>(x);
        if (value != value) return {-infinity<C>(), value};
        return {value, C(1)};
    }
    static INFINI_DEVICE State combine(State a, State b) {
        // The difference of equal values, including infinities, is 0.
        const C distance = a.greatest == b.greatest ? C(0) : b.greatest - a.greatest;
        const C scale = exp(distance > 0 ? -distance : distance);
        if (distance > 0) return {b.greatest, a.sum * scale + b.sum};
        return {a.greatest, a.sum + b.sum * scale};
    }
    static INFINI_DEVICE R value(State a) {
        return convert<R>(a.sum == 0 ? a.greatest : a.greatest + log(a.sum));
    }
    static INFINI_DEVICE int64_t place(State) { return 0; }
};

}  // namespace infini

#ifdef INFINI_KERNEL_SCAN_ALONG
#include "block_scan.cuh"

// Along lines: kLineThreads threads process a line, or a chunk of it, kItems elements each at a
// time. Every lane has kVectors vectors, at such a distance that neighbouring lanes have
// neighbouring vectors. kSums: only the total of each chunk is written, as the initial state for
// the second kernel.
namespace infini {

using State = Running::State;
inline constexpr int kV = kWide<T> < kItems ? kWide<T> : kItems;
inline constexpr int kVectors = kItems / kV;

struct Combine {
    INFINI_DEVICE State operator()(State a, State b) const { return Running::combine(a, b); }
};

struct Line {
    const T *from;
    R *to;
    int64_t *places;

    INFINI_DEVICE Line(const ScanParams &p, int64_t line)
        : from(static_cast<const T *>(p.x) + p.from(line)), to(nullptr), places(nullptr) {
        if constexpr (!kSums) to = static_cast<R *>(p.y) + p.to(line);
        if constexpr (kPlaces && !kSums) places = p.places + p.stood(line);
    }

    // Elements [at, at + n), n <= kV.
    INFINI_DEVICE Vec<T, kV> read(const ScanParams &p, int64_t at, int n) const {
        if (p.vector && n == kV) return load<kV>(from + at);
        Vec<T, kV> x = {};
#pragma unroll
        for (int i = 0; i < kV; ++i)
            if (i < n) x[i] = from[(at + i) * p.from_step];
        return x;
    }
    INFINI_DEVICE void write(const ScanParams &p, int64_t at, int n,
                             const State (&states)[kV]) const {
        if (p.vector && n == kV) {
            constexpr int kTogether = kWide<R> < kV ? kWide<R> : kV;
#pragma unroll
            for (int i = 0; i < kV; i += kTogether) {
                Vec<R, kTogether> y;
#pragma unroll
                for (int k = 0; k < kTogether; ++k) y[k] = Running::value(states[i + k]);
                store(to + at + i, y);
            }
        } else {
#pragma unroll
            for (int i = 0; i < kV; ++i)
                if (i < n) to[(at + i) * p.to_step] = Running::value(states[i]);
        }
        if constexpr (kPlaces) {
#pragma unroll
            for (int i = 0; i < kV; ++i)
                if (i < n) places[(at + i) * p.stood_step] = Running::place(states[i]);
        }
    }
};

// The total of the chunks before this one.
INFINI_DEVICE State before_piece(const ScanParams &p, int64_t line, int piece, int thread) {
    const State *parts = static_cast<const State *>(p.parts) + line * p.pieces;
    State running = Running::identity();
    for (int first = 0; first < piece; first += kLineThreads) {
        const int i = first + thread;
        State all;
        scan_block<kLineThreads>(i < piece ? parts[i] : Running::identity(), Running::identity(),
                                 Combine(), &all);
        running = Running::combine(running, all);
    }
    return running;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ScanParams, 256, kResident) {
    const int thread = threadIdx.x % kLineThreads;
    const int64_t task = (int64_t(blockIdx.x) * 256 + threadIdx.x) / kLineThreads;
    if (task >= p.lines * p.pieces) return;  // uniform in a warp
    const int64_t number = uint64_t(task) / uint64_t(p.pieces), piece = task - number * p.pieces;
    const int64_t begin = piece * p.piece;
    const int64_t end = begin + p.piece < p.size ? begin + p.piece : p.size;
    const Line line(p, number);
    State running = Running::identity();
    if (!kSums && piece > 0) running = before_piece(p, number, int(piece), thread);
    // The offsets of the thread's vectors within a tile, and their numbers of valid elements.
    const int mine = thread / kWarp * (kWarp * kItems) + thread % kWarp * kV;
    auto place_of = [&](int64_t tile, int j) { return tile + mine + j * (kWarp * kV); };
    auto count_at = [&](int64_t at) { return end <= at ? 0 : end - at < kV ? int(end - at) : kV; };
    auto read = [&](Vec<T, kV>(&x)[kVectors], int64_t tile) {
#pragma unroll
        for (int j = 0; j < kVectors; ++j) {
            const int64_t at = place_of(tile, j);
            if (at < end) x[j] = line.read(p, at, count_at(at));
        }
    };
    constexpr int kTile = kLineThreads * kItems;
    auto work = [&](Vec<T, kV>(&x)[kVectors], int64_t tile) {
        // First scans each vector, then adds what precedes it.
        State states[kVectors][kV], starts[kVectors], of_warp = Running::identity(), all;
#pragma unroll
        for (int j = 0; j < kVectors; ++j) {
            const int64_t at = place_of(tile, j);
            const int n = count_at(at);
            State sum = Running::identity();
#pragma unroll
            for (int i = 0; i < kV; ++i) {
                if (i < n) sum = Running::combine(sum, Running::begin(x[j][i], at + i));
                states[j][i] = sum;
            }
        }
        read(x, tile + kTile);
#pragma unroll
        for (int j = 0; j < kVectors; ++j) {
            State total;
            starts[j] = scan_warp(states[j][kV - 1], Running::identity(), Combine(), &total);
            if (j > 0) starts[j] = Running::combine(of_warp, starts[j]);
            of_warp = j > 0 ? Running::combine(of_warp, total) : total;
        }
        const State before =
            scan_warps<kLineThreads>(of_warp, Running::identity(), Combine(), &all);
        if constexpr (!kSums) {
            const State first = Running::combine(running, before);
#pragma unroll
            for (int j = 0; j < kVectors; ++j) {
                const int64_t at = place_of(tile, j);
                const State start = Running::combine(first, starts[j]);
#pragma unroll
                for (int i = kV - 1; i >= 0; --i) {
                    if (kExclusive && i > 0) states[j][i] = states[j][i - 1];
                    states[j][i] =
                        kExclusive && i == 0 ? start : Running::combine(start, states[j][i]);
                }
                if (at < end) line.write(p, at, count_at(at), states[j]);
            }
        }
        running = Running::combine(running, all);
    };
    // The elements of the next tile are loaded while those of this one are scanned.
    Vec<T, kV> next[kVectors];
    read(next, begin);
#pragma unroll 1
    for (int64_t tile = begin; tile < end; tile += kTile) work(next, tile);
    if (kSums && thread == 0) static_cast<State *>(p.parts)[task] = running;
}
#endif

#ifdef INFINI_KERNEL_SCAN_ACROSS
// For interleaved lines (neighbouring ones are adjacent in memory): a thread processes a line, or a
// chunk of it, sequentially. kSums: only the total of each chunk is written, as the initial state
// for the second kernel.
using namespace infini;

INFINI_ENTRY(ScanParams, 256, 1) {
    using State = Running::State;
    const int64_t task = grid_thread();
    if (task >= p.lines * p.pieces) return;
    const int64_t piece = uint64_t(task) / uint64_t(p.lines), line = task - piece * p.lines;
    const int64_t begin = piece * p.piece;
    const int64_t end = begin + p.piece < p.size ? begin + p.piece : p.size;
    const T *from = static_cast<const T *>(p.x) + p.from(line);
    R *to = kSums ? nullptr : static_cast<R *>(p.y) + p.to(line);
    int64_t *places = kPlaces && !kSums ? p.places + p.stood(line) : nullptr;
    State *parts = static_cast<State *>(p.parts);
    State running = Running::identity();
    if (!kSums)
        for (int64_t i = 0; i < piece; ++i)
            running = Running::combine(running, parts[i * p.lines + line]);

    constexpr int kAtOnce = 8;
    for (int64_t first = begin; first < end; first += kAtOnce) {
        T x[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
            if (first + i < end) x[i] = from[(first + i) * p.from_step];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            const int64_t at = first + i;
            if (at >= end) break;
            const State next = Running::combine(running, Running::begin(x[i], at));
            if constexpr (!kSums) {
                const State shown = kExclusive ? running : next;
                to[at * p.to_step] = Running::value(shown);
                if constexpr (kPlaces) places[at * p.stood_step] = Running::place(shown);
            }
            running = next;
        }
    }
    if (kSums) parts[task] = running;
}
#endif

#endif  // INFINI_DEVICE
