// Radix sort with one block per tile. A pass in which all keys of a line have the same digit is
// skipped for that line. The first pass that is not skipped reads elements, later ones entries.
#pragma once

#include "keys.cuh"
#include "scan/block_scan.cuh"

namespace infini {

inline constexpr int kDigitBits = kKeyBits < 8 ? kKeyBits : 8, kDigits = 256;
inline constexpr int kPasses = (kKeyBits + 7) / 8;

INFINI_DEVICE uint32_t digit_of(Key key, int pass) { return uint32_t(key >> pass * 8) & 255; }

}  // namespace infini

#ifdef INFINI_KERNEL_RADIX_COUNT
// Counts the digits of each pass in a chunk of a line, and clears the states for the first pass.
using namespace infini;

INFINI_ENTRY(RadixParams, 512, 2) {
    constexpr int kThreads = 512, kV = kWide<T>;
    INFINI_SHARED uint32_t histogram[kPasses * kDigits];
    const int64_t line = blockIdx.x / p.parts, part = blockIdx.x - line * p.parts;
    const int64_t begin = part * p.part, left = p.size - begin;
    const int n = int(left < p.part ? left : p.part);
    const T *x = static_cast<const T *>(p.x) + p.from.offsets(line) + begin * p.from.step;
    for (int i = threadIdx.x; i < kPasses * kDigits; i += kThreads) histogram[i] = 0;
    __syncthreads();
    const auto count = [&](T value) {
        const Key key = order_key(value);
#pragma unroll
        for (int i = 0; i < kPasses; ++i) atomicAdd(&histogram[i * kDigits + digit_of(key, i)], 1u);
    };
    int done = 0;
    if (p.vector && n > 0) {
        done = n / kV * kV;
#pragma unroll 4
        for (int i = threadIdx.x * kV; i < done; i += kThreads * kV) {
            const Vec<T, kV> values = load<kV>(x + i);
#pragma unroll
            for (int k = 0; k < kV; ++k) count(values[k]);
        }
    }
#pragma unroll 1
    for (int i = done + threadIdx.x; i < n; i += kThreads) count(x[i * p.from.step]);
    const int64_t states = p.lines * p.tiles * kDigits;
    for (int64_t i = grid_thread() * 4; i < states; i += grid_threads() * 4)
        store(p.states[0] + i, Vec<uint32_t, 4>{});
    if (grid_thread() < kPasses) p.tickets[grid_thread()] = 0;
    __syncthreads();
    uint32_t *counts = p.counts + int64_t(blockIdx.x) * kPasses * kDigits;
    for (int i = threadIdx.x; i < kPasses * kDigits; i += kThreads) counts[i] = histogram[i];
}
#endif

#ifdef INFINI_KERNEL_RADIX_STARTS
// Finds where the keys of each digit begin in a sorted line, one block per line and pass.
using namespace infini;

INFINI_ENTRY(RadixParams, 256, 1) {
    const int64_t line = blockIdx.x / kPasses, pass = blockIdx.x - line * kPasses;
    const uint32_t *counts = p.counts + (line * p.parts * kPasses + pass) * kDigits + threadIdx.x;
    uint32_t sum = 0, all;
#pragma unroll 8
    for (int i = 0; i < p.parts; ++i) sum += counts[int64_t(i) * kPasses * kDigits];
    const uint32_t start = scan_block<kDigits>(sum, 0u, fold::Sum(), &all);
    p.starts[int64_t(blockIdx.x) * kDigits + threadIdx.x] = start;
    const bool same = __syncthreads_count(sum == all) != 0;
    if (threadIdx.x == 0) p.idle[blockIdx.x] = same && pass < kPasses - 1;
}
#endif

#ifdef INFINI_KERNEL_RADIX_SCATTER
#include "index/group_rank.cuh"

// Sorts a tile by one digit in shared memory, then writes it to the digits' positions in the line:
// after those of the previous tiles, which publish their counts as soon as they are known
// (decoupled look-back). The last pass (kLast) writes elements and their indices instead of
// entries.
namespace infini {

inline constexpr int kWarps = kThreads / kWarp, kTile = kThreads * kItems;
static_assert(kThreads >= kDigits && kThreads % kWarp == 0);

struct Shared {
    uint32_t counts[kWarps][kDigits];
    uint32_t base[kDigits];
    uint32_t ticket;
    alignas(16) Key keys[kTile];
    uint32_t places[kTile];
};

// A line and a tile of it. Blocks take tiles in the order in which they start, so that the previous
// tiles have also been started; the lines' first tiles come first.
struct Tile {
    int64_t line, begin;
    int number, size;

    INFINI_DEVICE Tile(const RadixParams &p, uint32_t ticket) {
        number = int(ticket / uint32_t(p.lines));
        line = ticket - uint32_t(number) * uint32_t(p.lines);
        begin = int64_t(number) * kTile;
        size = int(p.size - begin < kTile ? p.size - begin : kTile);
    }
};

// The state that a tile publishes for a digit: 0 is nothing yet; a value + 1 is its number of keys
// or, if marked with kWhole, the position in the line where the next tile's keys begin.
inline constexpr uint32_t kWhole = 0x80000000u;

INFINI_DEVICE void tell(uint32_t *state, uint32_t value) {
    *const_cast<volatile uint32_t *>(state) = value;
}
// The position in the line where a tile's keys begin, except for the first tile; `state` is this
// tile's.
INFINI_DEVICE uint32_t find_begin(const uint32_t *state, int number) {
    constexpr int kMany = 4;  // read together to hide latency
    uint32_t sum = 0;
    for (;;) {
        uint32_t states[kMany];
#pragma unroll
        for (int i = 0; i < kMany; ++i) {
            const int back = i + 1 < number ? i + 1 : number;
            states[i] = *const_cast<const volatile uint32_t *>(state - back * kDigits);
        }
        bool waits = false;
#pragma unroll
        for (int i = 0; i < kMany; ++i) {
            if (waits) continue;
            if (states[i] & kWhole) return sum + (states[i] & ~kWhole);
            if (states[i] == 0) {
                waits = true;
            } else {
                sum += states[i] - 1;
                state -= kDigits, --number;
            }
        }
        if (waits) __nanosleep(40);
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(RadixParams, kThreads, 3) {
    INFINI_DYNAMIC_SHARED(memory);
    Shared &shared = *reinterpret_cast<Shared *>(memory);
    const bool has_digit = kThreads == kDigits || threadIdx.x < kDigits;
    if (threadIdx.x == 0) shared.ticket = atomicAdd(p.tickets + p.pass, 1u);
    if (has_digit)
#pragma unroll
        for (int i = 0; i < kWarps; ++i) shared.counts[i][threadIdx.x] = 0;
    __syncthreads();
    const Tile tile(p, shared.ticket);
    const int64_t entry = (tile.line * p.tiles + tile.number) * kDigits + threadIdx.x;
    if (!kLast && has_digit) p.states[(p.pass + 1) % 2][entry] = 0;
    const uint32_t *idle = p.idle + tile.line * kPasses;
    const Lanes busy = vote(lane() <= p.pass && !idle[lane()]);
    if (!(busy >> p.pass)) return;
    const int done = count_lanes(busy) - 1;  // number of passes

    // Each warp has adjacent keys. Padding is sorted last.
    Key keys[kItems];
    uint32_t ranks[kItems];
    const int begin = warp() * kItems * kWarp + lane();
    if (done == 0) {
        const T *x = static_cast<const T *>(p.x) + p.from.offsets(tile.line) +
                     (tile.begin + begin) * p.from.step;
        // Through shared memory: keeping many addresses at a time would double the registers.
#pragma unroll 8
        for (int i = begin; i < begin + kItems * kWarp; i += kWarp, x += kWarp * p.from.step)
            shared.keys[i] = i < tile.size ? order_key(*x) : kLastKey;
#pragma unroll
        for (int k = 0; k < kItems; ++k) keys[k] = shared.keys[begin + k * kWarp];
    } else {
        const Entries &in = p.rooms[(done + 1) % 2];
        const Key *from =
            static_cast<const Key *>(in.keys) + tile.line * in.pitch + tile.begin + begin;
#pragma unroll
        for (int k = 0; k < kItems; ++k)
            keys[k] = begin + k * kWarp < tile.size ? from[k * kWarp] : kLastKey;
    }
    rank_rows<kDigitBits>(keys, p.pass * 8, shared.counts[warp()], ranks);
    __syncthreads();

    uint32_t mine = 0, all;
    if (has_digit)
#pragma unroll
        for (int i = 0; i < kWarps; ++i) mine += shared.counts[i][threadIdx.x];
    uint32_t *const state = p.states[p.pass % 2] + entry;
    uint32_t before = 0;
    if (has_digit) {
        if (tile.number == 0) {
            before = p.starts[(tile.line * kPasses + p.pass) * kDigits + threadIdx.x];
            tell(state, kWhole | (before + mine));
        } else {
            tell(state, mine + 1);
        }
    }
    const uint32_t start = scan_block<kThreads>(mine, 0u, fold::Sum(), &all);
    if (has_digit) {
        uint32_t sum = start;
#pragma unroll
        for (int i = 0; i < kWarps; ++i) {
            const uint32_t count = shared.counts[i][threadIdx.x];
            shared.counts[i][threadIdx.x] = sum;
            sum += count;
        }
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
        ranks[k] += shared.counts[warp()][digit_of(keys[k], p.pass)];
        shared.keys[ranks[k]] = keys[k];
    }
    if (done == 0) {
#pragma unroll
        for (int k = 0; k < kItems; ++k)
            shared.places[ranks[k]] = uint32_t(tile.begin) + uint32_t(begin + k * kWarp);
    } else {
        const Entries &in = p.rooms[(done + 1) % 2];
        const uint32_t *from = in.places + tile.line * in.pitch + tile.begin + begin;
#pragma unroll
        for (int k = 0; k < kItems; ++k)
            if (begin + k * kWarp < tile.size) shared.places[ranks[k]] = from[k * kWarp];
    }
    if (has_digit) {
        if (tile.number > 0) {
            before = find_begin(state, tile.number);
            tell(state, kWhole | (before + mine));
        }
        shared.base[threadIdx.x] = before - start;
    }
    __syncthreads();

    if constexpr (kLast) {
        const T *line = static_cast<const T *>(p.x) + p.from.offsets(tile.line);
        T *values = static_cast<T *>(p.values) + p.to.offsets(tile.line) - p.first * p.to.step;
        P *stood = static_cast<P *>(p.places) + p.stood.offsets(tile.line) - p.first * p.stood.step;
#pragma unroll 4
        for (int i = threadIdx.x; i < tile.size; i += kThreads) {
            const Key key = shared.keys[i];
            const int64_t at = shared.base[digit_of(key, p.pass)] + uint32_t(i);
            const uint32_t place = shared.places[i];
            if (at < p.first || at >= p.first + p.count) continue;
            values[at * p.to.step] =
                has_one_value<T>(key) ? value_of<T>(key) : line[place * p.from.step];
            stood[at * p.stood.step] = P(place);
        }
    } else {
        const Entries &out = p.rooms[done % 2];
        Key *to = static_cast<Key *>(out.keys) + tile.line * out.pitch;
        uint32_t *stood = out.places + tile.line * out.pitch;
#pragma unroll 4
        for (int i = threadIdx.x; i < tile.size; i += kThreads) {
            const Key key = shared.keys[i];
            const uint32_t at = shared.base[digit_of(key, p.pass)] + uint32_t(i);
            to[at] = key;
            stood[at] = shared.places[i];
        }
    }
}
#endif
