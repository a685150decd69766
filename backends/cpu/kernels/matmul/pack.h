// Packing: converts a block of a matrix, whatever its type and strides, to panels of words in the
// order in which the inner loop reads them: words [step][lane]. Lanes are rows of a, or columns of
// b.
#pragma once

#include <cstring>

#include "../convert.h"
#include "amx.h"
#include "matmul.h"
#include "micro.h"

namespace infini::cpu {

// An operand as seen by packing.
template <class T>
struct Lanes2 {
    const T *data;
    int64_t lane_stride, k_stride;
};

// Floats, as load_f32(). Explicit intrinsics, because gcc 12 converts a 64-bit vector to 128 bits
// element by element.
template <class T>
INFINI_SIMD F32 widen_f32(const T *p) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<T, bf16>)
        return as<F32>(vshll_n_u16(vld1_u16(&p->bits), 16));
    else
#endif
        return load_f32(p);
}

// Two consecutive vectors of floats with a single load; interleaving with zeros runs on two
// execution units, shifting on one.
template <class T>
INFINI_SIMD void widen_two(const T *p, F32 &a, F32 &b) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<T, bf16>) {
        const uint16x8_t zero = vdupq_n_u16(0), both = vld1q_u16(&p->bits);
        a = as<F32>(vzip1q_u16(zero, both)), b = as<F32>(vzip2q_u16(zero, both));
        return;
    }
#endif
    a = widen_f32(p), b = widen_f32(p + kWidth<float>);
}

namespace detail {

using W4 = Few<uint32_t, 4>;

// Transposes a 4 x 4 matrix whose rows are the vectors.
INFINI_SIMD void transpose(W4 &a, W4 &b, W4 &c, W4 &d) {
    constexpr W4 low = {0, 4, 1, 5}, high = {2, 6, 3, 7};
    constexpr W4 first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
    W4 ab0 = __builtin_shuffle(a, b, low), ab1 = __builtin_shuffle(a, b, high);
    W4 cd0 = __builtin_shuffle(c, d, low), cd1 = __builtin_shuffle(c, d, high);
    a = __builtin_shuffle(ab0, cd0, first), b = __builtin_shuffle(ab0, cd0, second);
    c = __builtin_shuffle(ab1, cd1, first), d = __builtin_shuffle(ab1, cd1, second);
}

#if defined(__AVX512F__)
using W16 = Few<uint32_t, 16>;

// Transposes a 16 x 16 matrix whose rows are the vectors, by exchanging blocks of 1, 2, 4 and 8.
INFINI_SIMD void transpose(W16 (&v)[16]) {
    const auto exchange = [&]<uint32_t d>(std::integral_constant<uint32_t, d>) {
        constexpr W16 kLane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        constexpr W16 kUpper = (kLane & d) / d;
        const W16 low = kLane + kUpper * (16 - d), high = low + d;
#pragma GCC unroll 16
        for (uint32_t i = 0; i < 16; ++i) {
            if (i & d) continue;
            const W16 a = v[i], b = v[i + d];
            v[i] = __builtin_shuffle(a, b, low), v[i + d] = __builtin_shuffle(a, b, high);
        }
    };
    exchange(std::integral_constant<uint32_t, 1>{});
    exchange(std::integral_constant<uint32_t, 2>{});
    exchange(std::integral_constant<uint32_t, 4>{});
    exchange(std::integral_constant<uint32_t, 8>{});
}
#endif

// Whether words of kind D consist of elements without conversion.
template <class D, class T>
inline constexpr bool kSameBits =
    sizeof(T) == sizeof(typename D::Element) &&
    (std::is_same_v<T, typename D::Element> || sizeof(typename D::Element) < 4);

template <class D, class T>
INFINI_SIMD typename D::Element convert(T x) {
    if constexpr (kSameBits<D, T>)
        return std::bit_cast<typename D::Element>(x);
    else
        return load_element<typename D::Element>(x);
}

// Four floats, or four words of smaller elements.
template <class D, class T>
INFINI_SIMD W4 load_four(const T *p) {
    if constexpr (kSameBits<D, T>) {
        W4 v;
        std::memcpy(&v, p, sizeof v);
        return v;
    } else if constexpr (std::is_same_v<T, bf16> && D::kGroup == 1) {
#if defined(__ARM_NEON)
        return as<W4>(widen_f32(p));
    } else if constexpr (std::is_same_v<T, f16>) {
        return as<W4>(load_f32(p));
#else
        Few<uint16_t, 4> v;
        std::memcpy(&v, p, sizeof v);
        return __builtin_convertvector(v, W4) << 16;
#endif
#if !defined(__ARM_NEON) && defined(__F16C__)
    } else if constexpr (std::is_same_v<T, f16>) {
        return as<W4>(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))));
#endif
    } else {
        using E = typename D::Element;
        E some[16 / sizeof(E)];
        for (int i = 0; i < int(16 / sizeof(E)); ++i) some[i] = convert<D>(p[i]);
        W4 v;
        std::memcpy(&v, some, sizeof v);
        return v;
    }
}

// R consecutive lanes in memory, for one k.
template <class D, int R, class T>
INFINI_SIMD void copy_lanes(const T *p, typename D::Element *to) {
    if constexpr (std::is_same_v<typename D::Element, float> && R % int(kWidth<float>) == 0) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r += int(kWidth<float>)) store(to + r, widen_f32(p + r));
    } else if constexpr (sizeof(typename D::Element) == 4 && R % 4 == 0) {
        for (int r = 0; r < R; r += 4) {
            W4 v = load_four<D>(p + r);
            std::memcpy(to + r, &v, sizeof v);
        }
    } else {
        for (int r = 0; r < R; ++r) to[r] = convert<D>(p[r]);
    }
}

// 16 words, each of an element of two rows.
template <class T, class Word>
INFINI_SIMD void interleave(const T *first, const T *second, Word *to) {
    if constexpr (sizeof(T) == 2 && sizeof(Word) == 4) {
        using Wide = Few<uint32_t, 16>;
        Few<uint16_t, 16> low, high;
        std::memcpy(&low, first, sizeof low);
        std::memcpy(&high, second, sizeof high);
        const Wide words = __builtin_convertvector(low, Wide) | __builtin_convertvector(high, Wide)
                                                                    << 16;
        std::memcpy(to, &words, sizeof words);
    }
}

}  // namespace detail

// The number of steps (words along k) of a panel.
template <class D>
inline int64_t step_count(int64_t k) {
    constexpr int64_t grain = D::kGroup * D::kStepGrain;
    return (k + grain - 1) / grain * D::kStepGrain;
}

// Element by element: for arbitrary strides and for the remainders at the edges.
template <class D, int R, class T>
void pack_elements(Lanes2<T> from, int64_t lane0, int64_t lanes, int64_t k0, int64_t k,
                   typename D::Word *to) {
    auto *elements = reinterpret_cast<typename D::Element *>(to);
    for (int64_t p = k0; p < k; ++p)
        for (int64_t lane = lane0; lane < lanes; ++lane)
            elements[(p / D::kGroup * R + lane) * D::kGroup + p % D::kGroup] =
                detail::convert<D>(from.data[lane * from.lane_stride + p * from.k_stride]);
}

// A panel of R lanes, of which the first `lanes` exist; missing lanes and the end of the last word
// become 0.
template <class D, int R, class T>
void pack_panel(Lanes2<T> from, int64_t lanes, int64_t k, typename D::Word *to) {
    using Element = typename D::Element;
    constexpr int group = D::kGroup;
    const int64_t steps = step_count<D>(k);
    if (lanes < R || steps * group != k)
        std::memset(to, 0, size_t(steps * R) * sizeof(typename D::Word));
    if (from.k_stride == 1 && sizeof(typename D::Word) == 4) {
        int64_t lane = 0, whole = k / (4 * group) * (4 * group);
#if defined(__AVX512F__)
        // Processes whole cache lines of the rows, or of the panel, at a time.
        if (detail::kSameBits<D, T> && R == 12 && lanes == R && k % (16 * group) == 0) {
            for (int64_t p = 0; p < k; p += 16 * group, to += 16 * R) {
                detail::W16 words[16] = {};
#pragma GCC unroll 16
                for (int r = 0; r < R; ++r)
                    std::memcpy(&words[r], from.data + r * from.lane_stride + p, sizeof words[r]);
                detail::transpose(words);
#pragma GCC unroll 16
                for (int r = 0; r < 16; ++r)
                    _mm512_mask_storeu_epi32(to + r * R, 0xfff, __m512i(words[r]));
            }
            return;
        }
        if (detail::kSameBits<D, T> && R % 16 == 0 && k % (16 * group) == 0) {
            for (; lane + 16 <= lanes; lane += 16) {
                const T *row = from.data + lane * from.lane_stride;
                for (int64_t p = 0; p < k; p += 16 * group) {
                    detail::W16 words[16];
#pragma GCC unroll 16
                    for (int r = 0; r < 16; ++r)
                        std::memcpy(&words[r], row + r * from.lane_stride + p, sizeof words[r]);
                    detail::transpose(words);
#pragma GCC unroll 16
                    for (int r = 0; r < 16; ++r)
                        std::memcpy(to + (p / group + r) * R + lane, &words[r], sizeof words[r]);
                }
            }
        }
#endif
        const int64_t transposed = lane;
        for (; lane + 4 <= lanes; lane += 4) {
            const T *row = from.data + lane * from.lane_stride;
            const int64_t stride = from.lane_stride;
            typename D::Word *at = to + lane;
            for (int64_t p = 0; p < whole; p += 4 * group, at += 4 * R) {
                detail::W4 a = detail::load_four<D>(row + p);
                detail::W4 b = detail::load_four<D>(row + stride + p);
                detail::W4 c = detail::load_four<D>(row + 2 * stride + p);
                detail::W4 d = detail::load_four<D>(row + 3 * stride + p);
                detail::transpose(a, b, c, d);
                std::memcpy(at, &a, 16), std::memcpy(at + R, &b, 16);
                std::memcpy(at + 2 * R, &c, 16), std::memcpy(at + 3 * R, &d, 16);
            }
        }
        pack_elements<D, R>(from, transposed, lane, whole, k, to);
        pack_elements<D, R>(from, lane, lanes, 0, k, to);
    } else if (from.lane_stride == 1 && lanes == R && group == 1) {
        auto *at = reinterpret_cast<Element *>(to);
        for (int64_t p = 0; p < k; ++p, at += R)
            detail::copy_lanes<D, R>(from.data + p * from.k_stride, at);
    } else if (from.lane_stride == 1 && group == 2 && R % 16 == 0 && detail::kSameBits<D, T>) {
        const int64_t pairs = k / 2 * 2, vectors = lanes / 16 * 16;
        for (int64_t p = 0; p < pairs; p += 2) {
            const T *row = from.data + p * from.k_stride;
            for (int64_t lane = 0; lane < vectors; lane += 16)
                detail::interleave(row + lane, row + from.k_stride + lane, to + p / 2 * R + lane);
        }
        pack_elements<D, R>(from, vectors, lanes, 0, pairs, to);
        pack_elements<D, R>(from, 0, lanes, pairs, k, to);
    } else if (from.lane_stride == 1 && lanes == R) {
        auto *at = reinterpret_cast<Element *>(to);
        int64_t p = 0;
        for (; p + group <= k; p += group, at += R * group) {
            const T *rows = from.data + p * from.k_stride;
            for (int r = 0; r < R; ++r)
                for (int g = 0; g < group; ++g)
                    at[r * group + g] = detail::convert<D>(rows[g * from.k_stride + r]);
        }
        pack_elements<D, R>(from, 0, lanes, p, k, to);
    } else {
        pack_elements<D, R>(from, 0, lanes, 0, k, to);
    }
}

// The storage types that a kind of product supports.
template <class D, class F>
INFINI_SIMD void visit_operand(int dtype, F &&f) {
    if constexpr (requires { typename D::Operand; }) {
        f(Type<typename D::Operand>{});
    } else if constexpr (std::is_same_v<typename D::Sum, double>) {
        f(Type<double>{});
    } else if constexpr (std::is_same_v<typename D::Sum, int32_t>) {
        f(Type<int8_t>{});
    } else if constexpr (D::kGroup == 2) {
        f(Type<bf16>{});
    } else {
        switch (dtype) {
            case INFINI_DTYPE_F8:
                return f(Type<f8>{});
            case INFINI_DTYPE_F16:
                return f(Type<f16>{});
            case INFINI_DTYPE_BF16:
                return f(Type<bf16>{});
            default:
                return f(Type<float>{});
        }
    }
}

// Packs rows [row, row + rows) of a, rows <= D::kRows, from step k0.
template <class D>
void pack_rows(const Matrix &a, int64_t row, int64_t rows, int64_t k0, int64_t k,
               typename D::Word *to) {
    visit_operand<D>(a.dtype, [&]<class T>(Type<T>) {
        const T *data = static_cast<const T *>(a.data) + row * a.row_stride + k0 * a.col_stride;
#if defined(INFINI_AMX)
        if constexpr (D::kTiled)
            return pack_tiles<D>(data, a.row_stride, a.col_stride, rows, k, step_count<D>(k), to);
#endif
        pack_panel<D, D::kRows, T>({data, a.row_stride, a.col_stride}, rows, k, to);
    });
}

// Columns that are packed together: a whole number of panels for every kind, and enough contiguous
// bytes in a row of b.
inline constexpr int64_t kPackColumns = 96;

// Weights are unpacked in blocks that fit in L1 before they are packed into panels.
inline void pack_weights(const Weights &weights, int64_t column, int64_t columns, int64_t k0,
                         int64_t k, float *to) {
    constexpr int64_t depth = 32, width = DotF32::kColumns;
    if (weights.fills_panels()) {
        for (int64_t j = 0; j < columns; j += width) {
            const int64_t here = columns - j < width ? columns - j : width;
            if (here < width) std::memset(to + j * k, 0, size_t(k * width) * sizeof(float));
            weights.unpack(k0, k, column + j, here, to + j * k, width);
        }
        return;
    }
    alignas(64) float block[depth * kPackColumns];
    if (columns % width) std::memset(block, 0, sizeof block);
    for (int64_t p = 0; p < k; p += depth) {
        const int64_t rows = k - p < depth ? k - p : depth;
        weights.unpack(k0 + p, rows, column, columns, block, kPackColumns);
        for (int64_t j = 0; j < columns; j += width)
            for (int64_t i = 0; i < rows; ++i)
                std::memcpy(to + j * k + (p + i) * width, block + i * kPackColumns + j,
                            width * sizeof(float));
    }
}

// Packs columns [column, column + columns) of b or of the weights, columns <= kPackColumns, into
// consecutive panels.
template <class D>
void pack_columns(const Matmul &product, int64_t column, int64_t columns, int64_t k0, int64_t k,
                  typename D::Word *to) {
    constexpr int64_t width = D::kColumns;
    static_assert(kPackColumns % width == 0);
    const Matrix &b = product.b;
    if constexpr (std::is_same_v<D, DotF32>)
        if (product.weights) return pack_weights(*product.weights, column, columns, k0, k, to);
    visit_operand<D>(b.dtype, [&]<class T>(Type<T>) {
        const T *data = static_cast<const T *>(b.data) + column * b.col_stride + k0 * b.row_stride;
        int64_t done = 0;
        if (b.col_stride == 1 && b.row_stride != 1 && D::kGroup == 1) {
            // Row by row, so that cache lines and pages are read completely.
            done = columns / width * width;
            auto *words = reinterpret_cast<typename D::Element *>(to);
            constexpr int64_t ahead = 8, line = 64 / sizeof(T);
            for (int64_t p = 0; p < k; ++p) {
                const T *row = data + p * b.row_stride;
                if (p + ahead < k)  // each row is on another page
                    for (int64_t j = 0; j < done; j += line)
                        __builtin_prefetch(row + ahead * b.row_stride + j);
                for (int64_t j = 0; j < done; j += width)
                    detail::copy_lanes<D, D::kColumns>(row + j, words + j * k + p * width);
            }
        }
        for (; done < columns; done += width)
            pack_panel<D, D::kColumns, T>({data + done * b.col_stride, b.col_stride, b.row_stride},
                                          columns - done < width ? columns - done : width, k,
                                          to + done * step_count<D>(k));
    });
}

}  // namespace infini::cpu
