// Sorts lines that fit into shared memory by a bitonic network: a block has one line or several
// short ones. P is the type of indices in the result.
#include "keys.cuh"

namespace infini {

inline constexpr int kTileThreads = 512;

// Entries in shared memory. Keys of 32 bits share a word with their indices.
struct WordEntries {
    uint64_t *words;

    INFINI_DEVICE WordEntries(unsigned char *memory, int)
        : words(reinterpret_cast<uint64_t *>(memory)) {}
    INFINI_DEVICE void put(int at, Key key, uint32_t place) const {
        words[at] = uint64_t(key) << 32 | place;
    }
    INFINI_DEVICE uint32_t place(int at) const { return uint32_t(words[at]); }
    // Exchanges two entries if they are not in the required order.
    INFINI_DEVICE void exchange(int low, int high, bool up) const {
        const uint64_t a = words[low], b = words[high];
        if ((b < a) == up) words[low] = b, words[high] = a;
    }
};
struct PairEntries {
    Key *keys;
    uint32_t *places;

    INFINI_DEVICE PairEntries(unsigned char *memory, int count)
        : keys(reinterpret_cast<Key *>(memory)),
          places(reinterpret_cast<uint32_t *>(keys + count)) {}
    INFINI_DEVICE void put(int at, Key key, uint32_t place) const {
        keys[at] = key, places[at] = place;
    }
    INFINI_DEVICE uint32_t place(int at) const { return places[at]; }
    INFINI_DEVICE void exchange(int low, int high, bool up) const {
        const Key a = keys[low], b = keys[high];
        const uint32_t i = places[low], k = places[high];
        if (precedes(b, k, a, i) != up) return;
        keys[low] = b, keys[high] = a;
        places[low] = k, places[high] = i;
    }
};
using TileEntries = Choose<sizeof(Key) == 4, WordEntries, PairEntries>;

// Sorts runs of `run` entries, alternately ascending and descending. While the distance between
// entries is small enough, each warp accesses its own entries only and needs no block barrier.
INFINI_DEVICE void sort_tile(const TileEntries &entries, int count, int padded) {
    bool alone = false;
    for (int run = 2; run <= padded; run *= 2)
        for (int distance = run / 2; distance > 0; distance /= 2) {
            if (alone && distance <= kWarp)
                sync_warp();
            else
                __syncthreads();
            alone = distance <= kWarp;
            for (int at = threadIdx.x; at < count / 2; at += kTileThreads) {
                const int low = 2 * at - (at & (distance - 1));
                entries.exchange(low, low + distance, (low & (padded - 1) & run) == 0);
            }
        }
    __syncthreads();
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(TileParams, 512, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    const int64_t lines = p.together, first = blockIdx.x * lines;
    const int here = int(p.lines - first < lines ? p.lines - first : lines);
    const int count = here * p.padded;
    const TileEntries entries(memory, int(lines) * p.padded);
    const T *x = static_cast<const T *>(p.x);

    for (int at = threadIdx.x; at < count; at += kTileThreads) {
        const int line = at / p.padded, i = at - line * p.padded;
        // Padding is sorted last: no element has such an index.
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
        entries.put(at, key, place);
    }
    sort_tile(entries, count, p.padded);

    for (int at = threadIdx.x; at < here * p.count; at += kTileThreads) {
        const int line = at / p.count, i = at - line * p.count;
        const int64_t number = first + line, place = entries.place(line * p.padded + p.first + i);
        const T value = x[p.from.offsets(number) + place * p.from.step];
        static_cast<T *>(p.values)[p.to.offsets(number) + i * p.to.step] = value;
        static_cast<P *>(p.places)[p.stood.offsets(number) + i * p.stood.step] = P(place);
    }
}
