// Lines that fit into shared memory, sorted by a bitonic network: a block has kTile entries, of one line
// or of several short ones. P is the type of places in the result.
#include "keys.cuh"

namespace infini {

inline constexpr int kTile = 4096, kTileThreads = 512;

// Compares and exchanges entries `distance` apart, so that runs of `run` entries become sorted, upwards
// and downwards in turn.
INFINI_DEVICE void exchange(Key *keys, uint32_t *places, int at, int distance, int run,
                            int padded) {
    const int low = 2 * at - (at & (distance - 1)), high = low + distance;
    const bool up = (low & (padded - 1) & run) == 0;
    const Key a = keys[low], b = keys[high];
    const uint32_t i = places[low], k = places[high];
    if (precedes(b, k, a, i) == up) {
        keys[low] = b, keys[high] = a;
        places[low] = k, places[high] = i;
    }
}

INFINI_DEVICE void sort_tile(Key *keys, uint32_t *places, int entries, int padded) {
    for (int run = 2; run <= padded; run *= 2)
        for (int distance = run / 2; distance > 0; distance /= 2) {
            __syncthreads();
            for (int at = threadIdx.x; at < entries / 2; at += kTileThreads)
                exchange(keys, places, at, distance, run, padded);
        }
    __syncthreads();
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(TileParams, 512, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    const int64_t lines = kTile / p.padded, first = blockIdx.x * lines;
    const int here = int(p.lines - first < lines ? p.lines - first : lines);
    const int entries = here * p.padded;
    Key *keys = reinterpret_cast<Key *>(memory);
    uint32_t *places = reinterpret_cast<uint32_t *>(keys + lines * p.padded);
    const T *x = static_cast<const T *>(p.x);

    for (int at = threadIdx.x; at < entries; at += kTileThreads) {
        const int line = at / p.padded, i = at - line * p.padded;
        // What fills up a line comes last: no element has such a place.
        Key key = Key(~Key(0));
        uint32_t place = 0xffffffffu;
        if (i < p.size) {
            if constexpr (kEntries) {
                const int64_t entry = (first + line) * p.in.pitch + i;
                key = static_cast<const Key *>(p.in.keys)[entry], place = p.in.places[entry];
            } else {
                key = order_key(x[p.from.offsets(first + line) + i * p.from.step]), place = i;
            }
        }
        keys[at] = key, places[at] = place;
    }
    sort_tile(keys, places, entries, p.padded);

    for (int at = threadIdx.x; at < here * p.count; at += kTileThreads) {
        const int line = at / p.count, i = at - line * p.count;
        const int64_t number = first + line, place = places[line * p.padded + p.first + i];
        const T value = x[p.from.offsets(number) + place * p.from.step];
        static_cast<T *>(p.values)[p.to.offsets(number) + i * p.to.step] = value;
        static_cast<P *>(p.places)[p.stood.offsets(number) + i * p.stood.step] = P(place);
    }
}
