// Sorting digit by digit: a tile is what a block takes. The first pass reads elements, later ones
// entries.
#pragma once

#include "keys.cuh"
#include "scan/block_scan.cuh"

namespace infini {

inline constexpr int kThreads = 256, kDigits = 256;
inline constexpr int kItems = sizeof(Key) == 8 ? 8 : 12;
inline constexpr int kTile = kThreads * kItems;

// A line and a tile of it.
struct Tile {
    int64_t line, begin;
    int number, size;

    INFINI_DEVICE explicit Tile(const RadixParams &p) {
        line = blockIdx.x / p.tiles;
        number = int(blockIdx.x - line * p.tiles);
        begin = int64_t(number) * kTile;
        size = int(p.size - begin < kTile ? p.size - begin : kTile);
    }
};

// The keys of a tile.
struct TileKeys {
    const T *elements;
    const Key *keys;
    int64_t step;

    INFINI_DEVICE TileKeys(const RadixParams &p, const Tile &tile)
        : elements(nullptr), keys(nullptr), step(p.from.step) {
        if (p.is_first)
            elements = static_cast<const T *>(p.x) + p.from.offsets(tile.line) + tile.begin * step;
        else
            keys = static_cast<const Key *>(p.in.keys) + tile.line * p.in.pitch + tile.begin;
    }
    INFINI_DEVICE Key operator[](int i) const {
        return elements ? order_key(elements[i * step]) : keys[i];
    }
};
INFINI_DEVICE int digit_of(const RadixParams &p, Key key) { return int(key >> p.shift) & 255; }

}  // namespace infini
