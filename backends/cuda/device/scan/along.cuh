// Along lines: kLineThreads threads take a line, or a piece of it, kItems elements each at a time: of
// a warp's elements every lane has kVectors vectors, as far apart as makes neighbours of those of
// neighbouring lanes. kSums: only what each piece comes to is written, for the second kernel to
// begin with.
#include "block_scan.cuh"
#include "running.cuh"

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
    const int64_t number = uint64_t(task) / uint64_t(p.pieces), piece = task - number * p.pieces;
    const int64_t begin = piece * p.piece;
    const int64_t end = begin + p.piece < p.size ? begin + p.piece : p.size;
    const Line line(p, number);
    State running = Running::identity();
    if (!kSums && piece > 0) running = before_piece(p, number, int(piece), thread);
    // Where the thread's vectors begin within a tile, and how many elements are there.
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
        // First each vector for itself, then what comes before it.
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
    // The elements of the next tile are on their way while those of one are added up.
    Vec<T, kV> next[kVectors];
    read(next, begin);
#pragma unroll 1
    for (int64_t tile = begin; tile < end; tile += kTile) work(next, tile);
    if (kSums && thread == 0) static_cast<State *>(p.parts)[task] = running;
}
