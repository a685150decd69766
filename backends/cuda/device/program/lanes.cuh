// Lanes: threads that process the same rows. Along rows they are adjacent (part of a warp or the
// whole block); across rows they are kColumns apart.
#pragma once

namespace infini {

INFINI_DEVICE int my_lane() {
    return kAcross ? int(threadIdx.x) / kColumns : int(threadIdx.x) % kLanes;
}
INFINI_DEVICE int my_group() {
    return kAcross ? int(threadIdx.x) % kColumns : int(threadIdx.x) / kLanes;
}

// Combines the folds of all lanes in a fixed order; every lane gets the result. Called by all
// threads.
template <class Folds>
INFINI_DEVICE void join_lanes(Folds &folds) {
    if constexpr (kAcross) {
        INFINI_SHARED Folds parts[kLanes][kColumns];
        __syncthreads();  // the previous call's partial results have been read
        parts[my_lane()][my_group()] = folds;
        __syncthreads();
        folds = parts[0][my_group()];
#pragma unroll 1
        for (int i = 1; i < kLanes; ++i) folds.join(parts[i][my_group()]);
    } else {
        constexpr int kNear = kLanes < kWarp ? kLanes : kWarp;
        // Joining is commutative, so both lanes get the same result.
#pragma unroll
        for (int mask = kNear / 2; mask > 0; mask /= 2) folds.join(shuffle_xor(folds, mask));
        if constexpr (kLanes > kWarp) {  // the block has only one row
            constexpr int kWarps = kLanes > kWarp ? kLanes / kWarp : 1;
            INFINI_SHARED Folds parts[kWarps];
            __syncthreads();
            if (lane() == 0) parts[warp()] = folds;
            __syncthreads();
            folds = parts[0];
#pragma unroll
            for (int i = 1; i < kWarps; ++i) folds.join(parts[i]);
        }
    }
}

}  // namespace infini
