// Selects the first `count` entries of each chunk of a line, in index order: their bound is found
// digit by digit, with the keys in shared memory. kEntries: selects from entries instead of
// elements; their indices ascend among equal keys.
#include "keys.cuh"
#include "scan/block_scan.cuh"

namespace infini {

inline constexpr int kPiece = 32768 / int(sizeof(Key)), kThreads = 512;

// Selected are entries with (key & mask) < prefix, and the first `ties` of those with == prefix.
struct Bound {
    Key prefix, mask;
    uint32_t ties;
};

INFINI_APART uint32_t sum_before(uint32_t value) {
    uint32_t all;
    return scan_block<kThreads>(value, 0u, fold::Sum(), &all);
}

INFINI_DEVICE Bound find_bound(const Key *keys, int n, uint32_t count) {
    INFINI_SHARED uint32_t histogram[256];
    INFINI_SHARED uint32_t found[3];  // the digit, number of smaller ones, number of equal ones
    Bound bound = {0, 0, count};
    for (int shift = (kKeyBits - 1) / 8 * 8; shift >= 0; shift -= 8) {
        if (threadIdx.x < 256) histogram[threadIdx.x] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += kThreads)
            if ((keys[i] & bound.mask) == bound.prefix)
                atomicAdd(&histogram[uint32_t(keys[i] >> shift) & 255], 1u);
        __syncthreads();
        const uint32_t mine = threadIdx.x < 256 ? histogram[threadIdx.x] : 0;
        const uint32_t before = sum_before(mine);
        if (before < bound.ties && bound.ties <= before + mine)
            found[0] = threadIdx.x, found[1] = before, found[2] = mine;
        __syncthreads();
        bound.prefix |= Key(found[0]) << shift;
        bound.mask |= Key(255) << shift;
        bound.ties -= found[1];
        if (found[2] == bound.ties) break;  // all of them are selected
    }
    return bound;
}

// The lanes with a key below the bound, and those with a tie.
struct Found {
    Lanes below, ties;

    INFINI_DEVICE Found(const Key *keys, int first, int end, const Bound &bound) {
        const int i = first + lane();
        const Key key = i < end ? keys[i] & bound.mask : Key(0);
        below = vote(i < end && key < bound.prefix);
        ties = vote(i < end && key == bound.prefix);
    }
    // Counts: keys below the bound in the lower half of a word, ties in the upper half.
    INFINI_DEVICE uint32_t both(Lanes among = kAllLanes) const {
        return uint32_t(count_lanes(below & among) | count_lanes(ties & among) << 16);
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(SelectParams, 512, 3) {
    INFINI_SHARED Key keys[kPiece];
    const int64_t line = blockIdx.x / p.pieces, piece = blockIdx.x - line * p.pieces;
    const int64_t begin = piece * p.piece;
    const int n = int(p.size - begin < p.piece ? p.size - begin : p.piece);
    const int64_t entry = line * p.in.pitch + begin;
    if constexpr (kEntries) {
        const Key *from = static_cast<const Key *>(p.in.keys) + entry;
        for (int i = threadIdx.x; i < n; i += kThreads) keys[i] = from[i];
    } else {
        constexpr int kV = kWide<T>;
        const T *from = static_cast<const T *>(p.x) + p.from.offsets(line) + begin * p.from.step;
        int done = 0;
        if (p.vector) {
            done = n / kV * kV;
#pragma unroll 4
            for (int i = threadIdx.x * kV; i < done; i += kThreads * kV) {
                const Vec<T, kV> x = load_once<kV>(from + i);
#pragma unroll
                for (int k = 0; k < kV; ++k) keys[i + k] = order_key(x[k]);
            }
        }
        for (int i = done + threadIdx.x; i < n; i += kThreads)
            keys[i] = order_key(from[i * p.from.step]);
    }
    __syncthreads();

    const uint32_t count = n < p.count ? n : p.count;
    const Bound bound = find_bound(keys, n, count);
    Key *to = static_cast<Key *>(p.out.keys) + line * p.out.pitch + piece * p.count;
    uint32_t *places = p.out.places + line * p.out.pitch + piece * p.count;
    // Each warp has a range of the keys. Both counts are computed together.
    const int stretch = (n + kThreads - 1) / kThreads * kWarp;
    const int low = warp() * stretch, high = low + stretch < n ? low + stretch : n;
    uint32_t mine = 0;
    for (int first = low; first < high; first += kWarp)
        mine += Found(keys, first, high, bound).both();
    uint32_t done = sum_before(lane() == 0 ? mine : 0u);
    done = shuffle(done, 0) + ((count - bound.ties) << 16);
    for (int first = low; first < high; first += kWarp) {
        const Found found(keys, first, high, bound);
        const uint32_t mine_at = done + found.both(lanes_before());
        uint32_t slot = count;
        if (found.below & this_lane()) slot = mine_at & 0xffff;
        if (found.ties & this_lane()) slot = mine_at >> 16;
        if (slot < count) {
            const int i = first + lane();
            to[slot] = keys[i];
            places[slot] = kEntries ? p.in.places[entry + i] : uint32_t(begin + i);
        }
        done += found.both();
    }
}
