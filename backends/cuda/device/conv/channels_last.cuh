// Brings channels to the end, so that those of one place lie together; a block for a tile of 32
// places and 32 channels. The host gives T.
#include "convolution_params.h"
#include "prelude.cuh"

INFINI_ENTRY(infini::ChannelsLastParams, 256, 1) {
    using namespace infini;
    constexpr int kSide = 32, kAcross = 256 / kSide;
    INFINI_SHARED T tile[kSide][kSide + 2];
    const uint32_t tiles_p = uint32_t(p.positions + kSide - 1) / kSide;
    const uint32_t tiles_c = uint32_t(p.padded + kSide - 1) / kSide;
    const int place = int(blockIdx.x % tiles_p) * kSide;
    const int channel = int(blockIdx.x / tiles_p % tiles_c) * kSide;
    const int64_t batch = blockIdx.x / tiles_p / tiles_c;
    const int64_t image = batch / p.groups, group = batch % p.groups;
    const T *from = static_cast<const T *>(p.from) + batch * p.channels * int64_t(p.positions);
    T *to = static_cast<T *>(p.to);
    const int x = int(threadIdx.x) % kSide, y = int(threadIdx.x) / kSide;
#pragma unroll
    for (int i = y; i < kSide; i += kAcross) {
        const bool inside = channel + i < p.channels && place + x < p.positions;
        tile[i][x] = inside ? from[(channel + i) * int64_t(p.positions) + place + x] : T{};
    }
    __syncthreads();
#pragma unroll
    for (int i = y; i < kSide; i += kAcross) {
        if (place + i >= p.positions || channel + x >= p.padded) continue;
        const int64_t row = (image * p.positions + place + i) * p.groups + group;
        to[row * p.padded + channel + x] = tile[x][i];
    }
}
