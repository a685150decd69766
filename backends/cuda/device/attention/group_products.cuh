// Products of a warpgroup over 64 numbers, four wgmma each: the compiler goes over the lists of
// registers once for all four, which takes a good part of its time. See wgmma.cuh.
#pragma once

#include "wgmma.cuh"

namespace infini {

#ifndef INFINI_SIMULATED
// clang-format off

#define INFINI_WGMMA(n, registers, type) \
    "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" registers "}, "
// Operands of the asm: d, a, b, add.
#define INFINI_PANEL(type) \
    "{\n.reg .pred p, q;\n.reg .b64 x, y;\n" \
    "setp.ne.b32 p, %66, 0;\nsetp.eq.b32 q, 0, 0;\n" \
    INFINI_WGMMA(128, INFINI_NAMES_64, type) "%64, %65, p, 1, 1, 0, 0;\n" \
    "add.s64 x, %64, 2;\nadd.s64 y, %65, 2;\n" \
    INFINI_WGMMA(128, INFINI_NAMES_64, type) "x, y, q, 1, 1, 0, 0;\n" \
    "add.s64 x, %64, 4;\nadd.s64 y, %65, 4;\n" \
    INFINI_WGMMA(128, INFINI_NAMES_64, type) "x, y, q, 1, 1, 0, 0;\n" \
    "add.s64 x, %64, 6;\nadd.s64 y, %65, 6;\n" \
    INFINI_WGMMA(128, INFINI_NAMES_64, type) "x, y, q, 1, 1, 0, 0;\n}\n"
#define INFINI_ACROSS_64(type) \
    "{\n.reg .pred p, q;\n.reg .b64 y;\n" \
    "setp.ne.b32 p, %49, 0;\nsetp.eq.b32 q, 0, 0;\n" \
    INFINI_WGMMA(64, INFINI_NAMES_32, type) "{%32, %33, %34, %35}, %48, p, 1, 1, 1;\n" \
    "add.s64 y, %48, 128;\n" \
    INFINI_WGMMA(64, INFINI_NAMES_32, type) "{%36, %37, %38, %39}, y, q, 1, 1, 1;\n" \
    "add.s64 y, %48, 256;\n" \
    INFINI_WGMMA(64, INFINI_NAMES_32, type) "{%40, %41, %42, %43}, y, q, 1, 1, 1;\n" \
    "add.s64 y, %48, 384;\n" \
    INFINI_WGMMA(64, INFINI_NAMES_32, type) "{%44, %45, %46, %47}, y, q, 1, 1, 1;\n}\n"
#define INFINI_ACROSS_128(type) \
    "{\n.reg .pred p, q;\n.reg .b64 y;\n" \
    "setp.ne.b32 p, %81, 0;\nsetp.eq.b32 q, 0, 0;\n" \
    INFINI_WGMMA(128, INFINI_NAMES_64, type) "{%64, %65, %66, %67}, %80, p, 1, 1, 1;\n" \
    "add.s64 y, %80, 128;\n" \
    INFINI_WGMMA(128, INFINI_NAMES_64, type) "{%68, %69, %70, %71}, y, q, 1, 1, 1;\n" \
    "add.s64 y, %80, 256;\n" \
    INFINI_WGMMA(128, INFINI_NAMES_64, type) "{%72, %73, %74, %75}, y, q, 1, 1, 1;\n" \
    "add.s64 y, %80, 384;\n" \
    INFINI_WGMMA(128, INFINI_NAMES_64, type) "{%76, %77, %78, %79}, y, q, 1, 1, 1;\n}\n"
#define INFINI_FOUR(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])

// a [64, 64] and b [64, 128], panels with neighbours along k.
template <class T>
INFINI_DEVICE void wgmma_panel(float (&d)[16][4], uint64_t a, uint64_t b, bool add) {
    if constexpr (kSame<T, f16>)
        asm volatile(INFINI_PANEL("f16")
                     : INFINI_TILES_16 : "l"(a), "l"(b), "r"(int(add)));
    else
        asm volatile(INFINI_PANEL("bf16")
                     : INFINI_TILES_16 : "l"(a), "l"(b), "r"(int(add)));
}

// a [64, 64] in registers, b [64, n] of rows that follow one another, neighbours along n.
template <class T>
INFINI_DEVICE void wgmma_rows(float (&d)[8][4], const uint32_t (*a)[4], uint64_t b, bool add) {
    if constexpr (kSame<T, f16>)
        asm volatile(INFINI_ACROSS_64("f16") : INFINI_TILES_8
                     : INFINI_FOUR(a[0]), INFINI_FOUR(a[1]), INFINI_FOUR(a[2]), INFINI_FOUR(a[3]),
                       "l"(b), "r"(int(add)));
    else
        asm volatile(INFINI_ACROSS_64("bf16") : INFINI_TILES_8
                     : INFINI_FOUR(a[0]), INFINI_FOUR(a[1]), INFINI_FOUR(a[2]), INFINI_FOUR(a[3]),
                       "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma_rows(float (&d)[16][4], const uint32_t (*a)[4], uint64_t b, bool add) {
    if constexpr (kSame<T, f16>)
        asm volatile(INFINI_ACROSS_128("f16") : INFINI_TILES_16
                     : INFINI_FOUR(a[0]), INFINI_FOUR(a[1]), INFINI_FOUR(a[2]), INFINI_FOUR(a[3]),
                       "l"(b), "r"(int(add)));
    else
        asm volatile(INFINI_ACROSS_128("bf16") : INFINI_TILES_16
                     : INFINI_FOUR(a[0]), INFINI_FOUR(a[1]), INFINI_FOUR(a[2]), INFINI_FOUR(a[3]),
                       "l"(b), "r"(int(add)));
}

// clang-format on
#else
template <class T, int tiles>
INFINI_DEVICE void wgmma_panel(float (&d)[tiles][4], uint64_t a, uint64_t b, bool add) {
    for (int k = 0; k < 4; ++k)
        wgmma<T>(d, operand_at(a, k * 32), operand_at(b, k * 32), k > 0 || add);
}
template <class T, int tiles>
INFINI_DEVICE void wgmma_rows(float (&d)[tiles][4], const uint32_t (*a)[4], uint64_t b, bool add) {
    for (int k = 0; k < 4; ++k)
        wgmma_across<T>(d, a[k], operand_at(b, k * 16 * kPanelRow), k > 0 || add);
}
#endif

}  // namespace infini
