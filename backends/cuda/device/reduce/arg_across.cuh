// Where rows lie side by side: a lane takes kV neighbouring rows, and the warps of a block share
// the lines of a piece.
#include "arg.cuh"

using namespace infini;

INFINI_ENTRY(ArgParams, 256, 1) {
    constexpr int kLines = 256 / kWarp, kTile = kWarp * kV;
    const uint32_t tiles = uint32_t((p.columns + kTile - 1) / kTile);
    const uint32_t rest = blockIdx.x / tiles;
    const int64_t tile = blockIdx.x % tiles;
    const int64_t piece = rest % uint32_t(p.pieces), outer = rest / uint32_t(p.pieces);
    const int64_t column = tile * kTile + lane() * kV;
    const int64_t begin = piece * p.piece, step = p.folded.step();
    const uint32_t n = uint32_t(p.total - begin < p.piece ? p.total - begin : p.piece);
    const T *data = static_cast<const T *>(p.x) + p.from(outer) + begin * step + column;

    C values[kV];
    uint32_t places[kV];
#pragma unroll
    for (int i = 0; i < kV; ++i)
        values[i] = worst(), places[i] = uint32_t(warp()) < n ? warp() : kNowhere;
    if (p.vector && column < p.columns) {
#pragma unroll 4
        for (uint32_t line = warp(); line < n; line += kLines) {
            const Vec<T, kV> x = load_once<kV>(data + line * step);
#pragma unroll
            for (int i = 0; i < kV; ++i) {
                const C value = convert<C>(x[i]);
                if (beats(value, values[i])) values[i] = value, places[i] = line;
            }
        }
    } else {
        for (uint32_t line = warp(); line < n; line += kLines)
#pragma unroll
            for (int i = 0; i < kV; ++i)
                if (column + i < p.columns) {
                    const C value = convert<C>(data[line * step + i]);
                    if (beats(value, values[i])) values[i] = value, places[i] = line;
                }
    }

    INFINI_SHARED C value_of[kLines][kTile];
    INFINI_SHARED uint32_t place_of[kLines][kTile];
#pragma unroll
    for (int i = 0; i < kV; ++i) {
        value_of[warp()][i * kWarp + lane()] = values[i];
        place_of[warp()][i * kWarp + lane()] = places[i];
    }
    __syncthreads();
    for (int at = threadIdx.x; at < kTile; at += 256) {
        C value = value_of[0][at];
        uint32_t place = place_of[0][at];
        for (int line = 1; line < kLines; ++line) {
            const C other = value_of[line][at];
            if (same(other, value) ? place_of[line][at] < place : beats(other, value))
                value = other, place = place_of[line][at];
        }
        const int64_t mine = tile * kTile + at % kWarp * kV + at / kWarp;
        if (mine < p.columns) put(p, outer * p.columns + mine, piece, value, begin + place);
    }
}
