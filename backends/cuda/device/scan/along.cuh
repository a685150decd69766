// Along lines: kLineThreads threads take a line, or a piece of it, kItems neighbours each at a
// time. kSums: only what each piece comes to is written, for the second kernel to begin with.
#include "block_scan.cuh"
#include "running.cuh"

namespace infini {

using State = Running::State;
inline constexpr int kItems = sizeof(T) == 8 ? 4 : 8, kV = kWide<T> < kItems ? kWide<T> : kItems;

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

    // Elements [at, at + n), n <= kItems.
    INFINI_DEVICE void read(const ScanParams &p, int64_t at, int n, T (&x)[kItems]) const {
        if (p.vector && n == kItems) {
#pragma unroll
            for (int i = 0; i < kItems; i += kV) {
                const Vec<T, kV> some = load<kV>(from + at + i);
#pragma unroll
                for (int k = 0; k < kV; ++k) x[i + k] = some[k];
            }
        } else {
#pragma unroll
            for (int i = 0; i < kItems; ++i)
                if (i < n) x[i] = from[(at + i) * p.from_step];
        }
    }
    INFINI_DEVICE void write(const ScanParams &p, int64_t at, int n,
                             const State (&states)[kItems]) const {
        if (p.vector && n == kItems) {
            constexpr int kTogether = kWide<R> < kItems ? kWide<R> : kItems;
#pragma unroll
            for (int i = 0; i < kItems; i += kTogether) {
                Vec<R, kTogether> y;
#pragma unroll
                for (int k = 0; k < kTogether; ++k) y[k] = Running::value(states[i + k]);
                store(to + at + i, y);
            }
        } else {
#pragma unroll
            for (int i = 0; i < kItems; ++i)
                if (i < n) to[(at + i) * p.to_step] = Running::value(states[i]);
        }
        if constexpr (kPlaces) {
#pragma unroll
            for (int i = 0; i < kItems; ++i)
                if (i < n) places[(at + i) * p.stood_step] = Running::place(states[i]);
        }
    }
};

// What the pieces before this one come to.
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
    if (task >= p.lines * p.pieces) return;  // of whole warps
    const int64_t number = task / p.pieces, piece = task - number * p.pieces;
    const int64_t begin = piece * p.piece;
    const int64_t end = begin + p.piece < p.size ? begin + p.piece : p.size;
    const Line line(p, number);
    State running = Running::identity();
    if (!kSums && piece > 0) running = before_piece(p, number, int(piece), thread);
    T next[kItems];
    auto items_of = [&](int64_t tile) {
        const int64_t left = end - tile - thread * kItems;
        return left < 0 ? 0 : left < kItems ? int(left) : kItems;
    };
    if (items_of(begin) > 0) line.read(p, begin + thread * kItems, items_of(begin), next);
    for (int64_t tile = begin; tile < end; tile += kLineThreads * kItems) {
        const int64_t at = tile + thread * kItems, after = tile + kLineThreads * kItems;
        const int n = items_of(tile);
        T x[kItems];
#pragma unroll
        for (int i = 0; i < kItems; ++i) x[i] = next[i];
        // The next elements are on their way while these are added up.
        if (items_of(after) > 0) line.read(p, after + thread * kItems, items_of(after), next);
        // First each thread for itself, then what comes before it.
        State states[kItems], mine = Running::identity(), all;
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
            if (i < n) mine = Running::combine(mine, Running::begin(x[i], at + i));
            states[i] = mine;
        }
        const State before = scan_block<kLineThreads>(mine, Running::identity(), Combine(), &all);
        if constexpr (!kSums) {
            const State start = Running::combine(running, before);
#pragma unroll
            for (int i = kItems - 1; i >= 0; --i) {
                if (kExclusive && i > 0) states[i] = states[i - 1];
                states[i] = kExclusive && i == 0 ? start : Running::combine(start, states[i]);
            }
            if (n > 0) line.write(p, at, n, states);
        }
        running = Running::combine(running, all);
    }
    if (kSums && thread == 0) static_cast<State *>(p.parts)[task] = running;
}
