// A tile is sorted by a digit in shared memory, then written to where its digits belong. In the last
// pass elements and their places are written instead of entries.
#include "index/group_rank.cuh"
#include "radix.cuh"

using namespace infini;

INFINI_ENTRY(RadixParams, 256, 3) {
    constexpr int kWarps = kThreads / kWarp;
    INFINI_SHARED uint32_t counts[kWarps][kDigits];
    INFINI_SHARED uint32_t start[kDigits];  // of a digit, in the tile
    INFINI_SHARED int64_t base[kDigits];    // and in the line, less that
    INFINI_SHARED Key tile_keys[kTile];
    INFINI_SHARED uint32_t tile_places[kTile];
    const Tile tile(p);
    const TileKeys from(p, tile);
#pragma unroll
    for (int i = 0; i < kWarps; ++i) counts[i][threadIdx.x] = 0;
    __syncthreads();

    // Each warp has neighbouring keys and takes a row of them at a time, in their order. How many
    // it has seen before is the rank of a key.
    Key keys[kItems];
    uint32_t ranks[kItems];
    const int begin = warp() * kItems * kWarp + lane();
#pragma unroll 4
    for (int i = begin; i < begin + kItems * kWarp; i += kWarp)
        tile_keys[i] = i < tile.size ? from[i] : kLastKey;
#pragma unroll
    for (int k = 0; k < kItems; ++k) keys[k] = tile_keys[begin + k * kWarp];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
        const int i = begin + k * kWarp;
        const bool here = i < tile.size;
        const int digit = digit_of(p, keys[k]);
        const Rank rank = rank_of<8>(uint32_t(digit), here);
        const uint32_t seen = counts[warp()][digit];
        __syncwarp();
        if (here && rank.before == 0) counts[warp()][digit] = seen + rank.equal;
        __syncwarp();
        ranks[k] = seen + rank.before;
    }
    __syncthreads();

    uint32_t sum = 0, all;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) {
        const uint32_t count = counts[i][threadIdx.x];
        counts[i][threadIdx.x] = sum;
        sum += count;
    }
    start[threadIdx.x] = scan_block<kThreads>(sum, 0u, fold::Sum(), &all);
    const int64_t entry = tile.line * kDigits + threadIdx.x;
    const uint32_t lower = scan_block<kThreads>(p.totals[entry], 0u, fold::Sum(), &all);
    base[threadIdx.x] =
        int64_t(lower) + p.counts[entry * p.tiles + tile.number] - start[threadIdx.x];
    __syncthreads();

#pragma unroll
    for (int k = 0; k < kItems; ++k) {
        const int i = begin + k * kWarp;
        if (i < tile.size) {
            const int digit = digit_of(p, keys[k]);
            const uint32_t at = start[digit] + counts[warp()][digit] + ranks[k];
            tile_keys[at] = keys[k];
            tile_places[at] = p.is_first ? uint32_t(tile.begin + i)
                                         : p.in.places[tile.line * p.in.pitch + tile.begin + i];
        }
    }
    __syncthreads();

    if (p.is_last) {
        const T *line = static_cast<const T *>(p.x) + p.from.offsets(tile.line);
        T *values = static_cast<T *>(p.values) + p.to.offsets(tile.line) - p.first * p.to.step;
        P *places =
            static_cast<P *>(p.places) + p.stood.offsets(tile.line) - p.first * p.stood.step;
#pragma unroll 2
        for (int i = threadIdx.x; i < tile.size; i += kThreads) {
            const int64_t at = base[digit_of(p, tile_keys[i])] + i;
            const uint32_t place = tile_places[i];
            if (at < p.first || at >= p.first + p.count) continue;
            values[at * p.to.step] = line[place * p.from.step];
            places[at * p.stood.step] = P(place);
        }
    } else {
        Key *to = static_cast<Key *>(p.out.keys) + tile.line * p.out.pitch;
        uint32_t *places = p.out.places + tile.line * p.out.pitch;
#pragma unroll 2
        for (int i = threadIdx.x; i < tile.size; i += kThreads) {
            const Key key = tile_keys[i];
            const int64_t at = base[digit_of(p, key)] + i;
            to[at] = key;
            places[at] = tile_places[i];
        }
    }
}
