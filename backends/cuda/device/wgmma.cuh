// Warpgroup products (wgmma, sm_90a) with 64 rows; in a separate file, because the register lists
// are long.
//
// Thread (g, t) of warp w holds those elements of d [64, n] that mma has for rows 16 w .. 16 w +
// 15; see mma.cuh. Operands in shared memory are given by descriptors; see hopper.cuh. If `add` is
// false, d is overwritten.
#pragma once

#include "hopper.cuh"

#ifndef INFINI_WGMMA_CUH
#define INFINI_WGMMA_CUH

namespace infini {

// clang-format off

// Registers of d: their names in the assembly text, and as operands.
#define INFINI_NAMES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define INFINI_NAMES_16 INFINI_NAMES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define INFINI_NAMES_32 \
    INFINI_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23" \
    ", %24, %25, %26, %27, %28, %29, %30, %31"
#define INFINI_NAMES_64 \
    INFINI_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39" \
    ", %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51" \
    ", %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define INFINI_TILE(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
#define INFINI_TILES_2 INFINI_TILE(0), INFINI_TILE(1)
#define INFINI_TILES_4 INFINI_TILES_2, INFINI_TILE(2), INFINI_TILE(3)
#define INFINI_TILES_8 \
    INFINI_TILES_4, INFINI_TILE(4), INFINI_TILE(5), INFINI_TILE(6), INFINI_TILE(7)
#define INFINI_TILES_16 \
    INFINI_TILES_8, INFINI_TILE(8), INFINI_TILE(9), INFINI_TILE(10), INFINI_TILE(11), \
    INFINI_TILE(12), INFINI_TILE(13), INFINI_TILE(14), INFINI_TILE(15)

#define INFINI_FOUR(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])

#define INFINI_BEGIN(add) \
    "{\n.reg .pred p, q;\n.reg .b64 x, y;\nsetp.ne.b32 p, " add ", 0;\nsetp.eq.b32 q, 0, 0;\n"
#define INFINI_WGMMA(type, n, d) \
    "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" d "}, "

// One product; a and b, and whether they are transposed. The texts contain register names, followed
// by the operands.
#define INFINI_ONE(type, n, d, ab, add, turned, ...) \
    asm volatile(INFINI_BEGIN(add) \
                 INFINI_WGMMA(type, n, d) ab ", p, 1, 1, " turned ";\n}\n" __VA_ARGS__)
// Four products, over 64 elements along k in panels.
#define INFINI_NEXT(type, n, d, a, b, place) \
    "add.s64 x, " a ", " place ";\nadd.s64 y, " b ", " place ";\n" \
    INFINI_WGMMA(type, n, d) "x, y, q, 1, 1, 0, 0;\n"
#define INFINI_PANEL(type, n, d, a, b, add, ...) \
    asm volatile(INFINI_BEGIN(add) \
                 INFINI_WGMMA(type, n, d) a ", " b ", p, 1, 1, 0, 0;\n" \
                 INFINI_NEXT(type, n, d, a, b, "2") INFINI_NEXT(type, n, d, a, b, "4") \
                 INFINI_NEXT(type, n, d, a, b, "6") "}\n" __VA_ARGS__)
// Four products, with a in registers and 64 rows.
#define INFINI_NEXT_ROWS(type, n, d, a, b, place) \
    "add.s64 y, " b ", " place ";\n" INFINI_WGMMA(type, n, d) a ", y, q, 1, 1, 1;\n"
#define INFINI_ROWS(type, n, d, a, a16, a32, a48, b, add, ...) \
    asm volatile(INFINI_BEGIN(add) \
                 INFINI_WGMMA(type, n, d) a ", " b ", p, 1, 1, 1;\n" \
                 INFINI_NEXT_ROWS(type, n, d, a16, b, "128") \
                 INFINI_NEXT_ROWS(type, n, d, a32, b, "256") \
                 INFINI_NEXT_ROWS(type, n, d, a48, b, "384") "}\n" __VA_ARGS__)
#define INFINI_TYPED(what, ...) \
    if constexpr (kSame<T, f16>) \
        what("f16", __VA_ARGS__); \
    else \
        what("bf16", __VA_ARGS__)

// a [64, 16] and b [16, n], both with neighbours along k.
template <class T>
INFINI_DEVICE void wgmma(float (&d)[2][4], uint64_t a, uint64_t b, bool add) {
    INFINI_TYPED(INFINI_ONE, "16", INFINI_NAMES_8, "%8, %9", "%10", "0, 0",
                 : INFINI_TILES_2 : "l"(a), "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma(float (&d)[4][4], uint64_t a, uint64_t b, bool add) {
    INFINI_TYPED(INFINI_ONE, "32", INFINI_NAMES_16, "%16, %17", "%18", "0, 0",
                 : INFINI_TILES_4 : "l"(a), "l"(b), "r"(int(add)));
}

// a [64, 16] with neighbours along its rows, 64 of which form a panel.
template <class T>
INFINI_DEVICE void wgmma_turned(float (&d)[2][4], uint64_t a, uint64_t b, bool add) {
    INFINI_TYPED(INFINI_ONE, "16", INFINI_NAMES_8, "%8, %9", "%10", "1, 0",
                 : INFINI_TILES_2 : "l"(a), "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma_turned(float (&d)[4][4], uint64_t a, uint64_t b, bool add) {
    INFINI_TYPED(INFINI_ONE, "32", INFINI_NAMES_16, "%16, %17", "%18", "1, 0",
                 : INFINI_TILES_4 : "l"(a), "l"(b), "r"(int(add)));
}

// Four at a time: the compiler then processes the register lists once, which saves much of its
// time. a [64, 64] and b [64, n], panels with neighbours along k.
template <class T>
INFINI_DEVICE void wgmma_panel(float (&d)[8][4], uint64_t a, uint64_t b, bool add) {
    INFINI_TYPED(INFINI_PANEL, "64", INFINI_NAMES_32, "%32", "%33", "%34",
                 : INFINI_TILES_8 : "l"(a), "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma_panel(float (&d)[16][4], uint64_t a, uint64_t b, bool add) {
    INFINI_TYPED(INFINI_PANEL, "128", INFINI_NAMES_64, "%64", "%65", "%66",
                 : INFINI_TILES_16 : "l"(a), "l"(b), "r"(int(add)));
}

// a [64, 64] in registers, b [64, n] with consecutive rows, neighbours along n.
template <class T>
INFINI_DEVICE void wgmma_rows(float (&d)[8][4], const uint32_t (*a)[4], uint64_t b, bool add) {
    INFINI_TYPED(INFINI_ROWS, "64", INFINI_NAMES_32, "{%32, %33, %34, %35}",
                 "{%36, %37, %38, %39}", "{%40, %41, %42, %43}", "{%44, %45, %46, %47}",
                 "%48", "%49",
                 : INFINI_TILES_8
                 : INFINI_FOUR(a[0]), INFINI_FOUR(a[1]), INFINI_FOUR(a[2]), INFINI_FOUR(a[3]),
                   "l"(b), "r"(int(add)));
}
template <class T>
INFINI_DEVICE void wgmma_rows(float (&d)[16][4], const uint32_t (*a)[4], uint64_t b, bool add) {
    INFINI_TYPED(INFINI_ROWS, "128", INFINI_NAMES_64, "{%64, %65, %66, %67}",
                 "{%68, %69, %70, %71}", "{%72, %73, %74, %75}", "{%76, %77, %78, %79}",
                 "%80", "%81",
                 : INFINI_TILES_16
                 : INFINI_FOUR(a[0]), INFINI_FOUR(a[1]), INFINI_FOUR(a[2]), INFINI_FOUR(a[3]),
                   "l"(b), "r"(int(add)));
}

// clang-format on

}  // namespace infini

#endif
