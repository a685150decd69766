// Bounds of ragged queries: clamped to the existing tokens and made monotonic, so that no token
// belongs to two sequences. One block.
//
// Requires type Bound.
#include "attention_params.h"

namespace infini {

inline constexpr int kThreads = 256;

// Inclusive scan over the threads.
template <class Fold>
INFINI_DEVICE int scan_block(int value, int *shared, Fold fold) {
    const int thread = int(threadIdx.x);
    for (int distance = 1; distance < kThreads; distance *= 2) {
        shared[thread] = value;
        __syncthreads();
        if (thread >= distance) value = fold(shared[thread - distance], value);
        __syncthreads();
    }
    return value;
}

INFINI_ENTRY(SegmentParams, kThreads, 1) {
    INFINI_SHARED int shared[kThreads];
    INFINI_SHARED int carried[2];  // the greatest bound, the next tile
    const Bound *bounds = static_cast<const Bound *>(p.bounds);
    const int count = p.sequences + 3, thread = int(threadIdx.x);
    int32_t *starts = p.segments, *tiles = p.segments + count;
    if (thread == 0) carried[0] = carried[1] = 0, p.segments[2 * count] = 0;
    __syncthreads();
    for (int first = 0; first < count; first += kThreads) {
        const int i = first + thread;
        int bound = 0;
        if (i > 0 && i < count - 1) {
            const Bound given = bounds[(i - 1) * p.stride];
            if (uint64_t(given) > uint64_t(p.tokens))
                bound = given < Bound(1) ? 0 : p.tokens;
            else
                bound = int(given);
        } else if (i >= count - 1) {
            bound = p.tokens;
        }
        const int before = carried[0];
        bound = bound < before ? before : bound;
        bound = scan_block(bound, shared, [](int a, int b) { return a < b ? b : a; });
        shared[thread] = bound;
        __syncthreads();
        const int last = thread > 0 ? shared[thread - 1] : before;
        __syncthreads();
        // Counts the tiles of the segment that ends here.
        int n = i > 0 && i < count
                    ? int((int64_t(bound - last) * p.group + p.tile_rows - 1) / p.tile_rows)
                    : 0;
        const int tiles_before = carried[1];
        n = scan_block(n, shared, [](int a, int b) { return a + b; }) + tiles_before;
        if (i < count) starts[i] = bound, tiles[i] = n;
        __syncthreads();
        if (thread == kThreads - 1) carried[0] = bound, carried[1] = n;
        __syncthreads();
    }
}

}  // namespace infini
