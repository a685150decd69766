// Kinds of products for machines with AMX, whose tiles have 16 rows of 64 bytes: BF16 and I8.
//
// A tile of a holds 16 rows of 16 words, a tile of b 16 steps of 16 columns, and a tile of sums 16
// x 16. Two by two tiles are multiplied at a time. Panels of b have the same layout as elsewhere;
// in a panel of a, the words of a row are contiguous: [steps / 16][2 tiles][16 rows][16 words].
#pragma once

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AMX_INT8__)
#define INFINI_AMX 1

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "micro.h"

namespace infini::cpu {

// Requests the kernel's permission to use the tile registers. One request serves all threads.
inline bool amx_allowed() {
    static std::atomic<int> answer{0};  // 1: yes, 2: no
    int known = answer.load(std::memory_order_relaxed);
    if (known == 0) {
        constexpr int kRequestPermission = 0x1023, kTileData = 18;
        known = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 ? 1 : 2;
        answer.store(known, std::memory_order_relaxed);
    }
    return known == 1;
}

// Configures the thread's tiles during its lifetime.
struct TileScope {
    TileScope() {
        struct alignas(64) Config {
            uint8_t palette = 1, start_row = 0, reserved[14] = {};
            uint16_t row_bytes[16] = {};
            uint8_t rows[16] = {};
        } config;
        for (int i = 0; i < 8; ++i) config.row_bytes[i] = 64, config.rows[i] = 16;
        asm volatile("" ::"m"(config) : "memory");
        _tile_loadconfig(&config);
    }
    ~TileScope() { _tile_release(); }
    TileScope(const TileScope &) = delete;
    TileScope &operator=(const TileScope &) = delete;
};

struct TileKind {
    using Word = int32_t;
    using Scope = TileScope;
    static constexpr int kStepGrain = 16, kRows = 32, kColumns = 32;
    static constexpr int64_t kSteps = 512;
    static constexpr bool kTiled = true;
};

struct TileBF16 : TileKind {
    using Element = uint16_t;
    using Sum = float;
    static constexpr int kGroup = 2;
};

struct TileI8 : TileKind {
    using Element = int8_t;
    using Sum = int32_t;
    static constexpr int kGroup = 4;
};

// As micro(); writes `rows` rows.
template <class D>
[[gnu::noinline]] void micro_tiles(int rows, int64_t steps, const int32_t *a, const int32_t *b,
                                   typename D::Sum *c, int64_t stride, typename D::Sum alpha,
                                   typename D::Sum beta) {
    using Sum = typename D::Sum;
    alignas(64) Sum sums[D::kRows][D::kColumns];
    const bool both = rows > 16;
    asm volatile("" ::: "memory");  // the tile loads do not declare that they read memory
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t s = 0; s < steps; s += 16, a += 512, b += 512) {
        _tile_loadd(4, a, 64);
        _tile_loadd(6, b, 128);
        _tile_loadd(7, b + 16, 128);
        if constexpr (std::is_same_v<D, TileBF16>) {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
        } else {
            _tile_dpbssd(0, 4, 6);
            _tile_dpbssd(1, 4, 7);
        }
        if (both) {
            _tile_loadd(5, a + 256, 64);
            if constexpr (std::is_same_v<D, TileBF16>) {
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            } else {
                _tile_dpbssd(2, 5, 6);
                _tile_dpbssd(3, 5, 7);
            }
        }
    }
    _tile_stored(0, &sums[0][0], 128);
    _tile_stored(1, &sums[0][16], 128);
    _tile_stored(2, &sums[16][0], 128);
    _tile_stored(3, &sums[16][16], 128);
    asm volatile("" ::: "memory");
    using V = Vec<Sum>;
    constexpr int width = int(kWidth<Sum>);
    for (int i = 0; i < rows; ++i, c += stride)
        for (int j = 0; j < D::kColumns; j += width) {
            V value = load<V>(&sums[i][j]) * alpha;
            if (beta != 0) value = add_scaled(value, load<V>(c + j), beta);
            store(c + j, value);
        }
}

// Packs a panel of a: rows [0, rows), up to 32, of k elements each; missing elements are 0.
template <class D, class T>
void pack_tiles(const T *data, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t k,
                int64_t steps, int32_t *to) {
    using Element = typename D::Element;
    static_assert(sizeof(T) == sizeof(Element));
    constexpr int64_t in_row = 16 * D::kGroup;  // elements of a row in a tile
    if (rows < D::kRows || k != steps * D::kGroup)
        std::memset(to, 0, size_t(steps * D::kRows) * sizeof(int32_t));
    for (int64_t i = 0; i < rows; ++i) {
        const T *row = data + i * row_stride;
        int32_t *at = to + i / 16 * 256 + i % 16 * 16;
        for (int64_t p = 0; p < k; p += in_row, at += 512) {
            const int64_t n = k - p < in_row ? k - p : in_row;
            if (col_stride == 1) {
                std::memcpy(at, row + p, size_t(n) * sizeof(T));
            } else {
                for (int64_t q = 0; q < n; ++q)
                    std::memcpy(reinterpret_cast<Element *>(at) + q, row + (p + q) * col_stride,
                                sizeof(T));
            }
        }
    }
}

}  // namespace infini::cpu

#endif
