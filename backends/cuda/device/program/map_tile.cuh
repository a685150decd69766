// Maps that read some tensors transposed: a tile of each goes through shared memory, so that both
// reads and writes are coalesced. Vectors extend along the last dimension, those of the transposed
// tensors along dimension p.turned.
#pragma once

namespace infini {

INFINI_ENTRY(Params, kThreads, 1) {
    // The tile index: `down` along the transposed dimension, `across` along the vectors.
    int64_t rest = blockIdx.x;
    const int64_t across = rest % p.tiles_across;
    rest /= p.tiles_across;
    const int64_t down = rest % p.tiles_down;
    rest /= p.tiles_down;
    const Index column = Index(across * kTile), line = Index(down * kTile);
    const Index columns = p.columns - column < kTile ? p.columns - column : Index(kTile);
    const Index lines = p.lines - line < kTile ? p.lines - line : Index(kTile);
    const Place base = locate_tile(p, Index(rest), line, column);

    INFINI_SHARED Tiles tiles;
    read_tiles(p, base, tiles, int(lines), int(columns));
    __syncthreads();

    constexpr int kVectors = kTile / kVec;  // per line of the tile
    constexpr int kSteps = (kTile * kVectors + kThreads - 1) / kThreads;
    Place at[kSteps];
    In<kVec> in[kSteps];
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
        const int i = s * kThreads + int(threadIdx.x), d = i / kVectors, a = i % kVectors * kVec;
        if (d >= lines || a >= columns) continue;
        at[s] = move_in_tile(p, base, d, a);
        Pass0::fetch(p, at[s], in[s]);
        fetch_turned(tiles, d, a, in[s]);
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
        const int i = s * kThreads + int(threadIdx.x), d = i / kVectors, a = i % kVectors * kVec;
        if (d >= lines || a >= columns) continue;
        Held<kVec> held;
        const Rows rows{};
        Pass0::Folds folds;
        Pass0::body(p, at[s], Index(0), in[s], held, rows, folds);
    }
}

}  // namespace infini
