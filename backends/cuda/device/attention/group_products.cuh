// Products of a warpgroup over 64 numbers, four wgmma each: the compiler goes over the lists of
// registers once for all four, which takes a good part of its time. See wgmma.cuh.
#pragma once

#include "wgmma.cuh"

namespace infini {

#ifndef INFINI_SIMULATED
// clang-format off

#define INFINI_REGISTERS_64 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define INFINI_REGISTERS_128 \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
    "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, " \
    "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
    "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define INFINI_TILES_8 \
    "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), \
    "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]), \
    "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]), \
    "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), \
    "+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]), \
    "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]), \
    "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]), \
    "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3])
#define INFINI_TILES_16 \
    INFINI_TILES_8, \
    "+f"(d[8][0]), "+f"(d[8][1]), "+f"(d[8][2]), "+f"(d[8][3]), \
    "+f"(d[9][0]), "+f"(d[9][1]), "+f"(d[9][2]), "+f"(d[9][3]), \
    "+f"(d[10][0]), "+f"(d[10][1]), "+f"(d[10][2]), "+f"(d[10][3]), \
    "+f"(d[11][0]), "+f"(d[11][1]), "+f"(d[11][2]), "+f"(d[11][3]), \
    "+f"(d[12][0]), "+f"(d[12][1]), "+f"(d[12][2]), "+f"(d[12][3]), \
    "+f"(d[13][0]), "+f"(d[13][1]), "+f"(d[13][2]), "+f"(d[13][3]), \
    "+f"(d[14][0]), "+f"(d[14][1]), "+f"(d[14][2]), "+f"(d[14][3]), \
    "+f"(d[15][0]), "+f"(d[15][1]), "+f"(d[15][2]), "+f"(d[15][3])
#define INFINI_WGMMA(n, type) "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " " \
    INFINI_REGISTERS_##n ", "
// Operands of the asm: d, a, b, add.
#define INFINI_PRODUCTS(n, type, a, b, add) \
    "{\n.reg .pred p, q;\n.reg .b64 x, y;\n" \
    "setp.ne.b32 p, " add ", 0;\nsetp.eq.b32 q, 0, 0;\n" \
    INFINI_WGMMA(n, type) a ", " b ", p, 1, 1, 0, 0;\n" \
    "add.s64 x, " a ", 2;\nadd.s64 y, " b ", 2;\n" \
    INFINI_WGMMA(n, type) "x, y, q, 1, 1, 0, 0;\n" \
    "add.s64 x, " a ", 4;\nadd.s64 y, " b ", 4;\n" \
    INFINI_WGMMA(n, type) "x, y, q, 1, 1, 0, 0;\n" \
    "add.s64 x, " a ", 6;\nadd.s64 y, " b ", 6;\n" \
    INFINI_WGMMA(n, type) "x, y, q, 1, 1, 0, 0;\n}\n"
#define INFINI_ACROSS_64(type) \
    "{\n.reg .pred p, q;\n.reg .b64 y;\n" \
    "setp.ne.b32 p, %49, 0;\nsetp.eq.b32 q, 0, 0;\n" \
    INFINI_WGMMA(64, type) "{%32, %33, %34, %35}, %48, p, 1, 1, 1;\n" \
    "add.s64 y, %48, 128;\n" \
    INFINI_WGMMA(64, type) "{%36, %37, %38, %39}, y, q, 1, 1, 1;\n" \
    "add.s64 y, %48, 256;\n" \
    INFINI_WGMMA(64, type) "{%40, %41, %42, %43}, y, q, 1, 1, 1;\n" \
    "add.s64 y, %48, 384;\n" \
    INFINI_WGMMA(64, type) "{%44, %45, %46, %47}, y, q, 1, 1, 1;\n}\n"
#define INFINI_ACROSS_128(type) \
    "{\n.reg .pred p, q;\n.reg .b64 y;\n" \
    "setp.ne.b32 p, %81, 0;\nsetp.eq.b32 q, 0, 0;\n" \
    INFINI_WGMMA(128, type) "{%64, %65, %66, %67}, %80, p, 1, 1, 1;\n" \
    "add.s64 y, %80, 128;\n" \
    INFINI_WGMMA(128, type) "{%68, %69, %70, %71}, y, q, 1, 1, 1;\n" \
    "add.s64 y, %80, 256;\n" \
    INFINI_WGMMA(128, type) "{%72, %73, %74, %75}, y, q, 1, 1, 1;\n" \
    "add.s64 y, %80, 384;\n" \
    INFINI_WGMMA(128, type) "{%76, %77, %78, %79}, y, q, 1, 1, 1;\n}\n"
#define INFINI_FOUR(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])

// a [64, 64] and b [64, 128], panels with neighbours along k.
template <class T>
INFINI_DEVICE void wgmma_panel(float (&d)[16][4], uint64_t a, uint64_t b, bool add) {
    if constexpr (kSame<T, f16>)
        asm volatile(INFINI_PRODUCTS(128, "f16", "%64", "%65", "%66")
                     : INFINI_TILES_16 : "l"(a), "l"(b), "r"(int(add)));
    else
        asm volatile(INFINI_PRODUCTS(128, "bf16", "%64", "%65", "%66")
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
