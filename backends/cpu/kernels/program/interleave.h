// Interleaves two rows of elements, and separates them: the real and the imaginary parts of complex
// numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace infini::cpu::program {

namespace detail {
// Wider vectors only pay where a shuffle takes elements from all of two vectors.
#if defined(__AVX512BW__)
template <class E>
inline constexpr int kShuffled = sizeof(E) == 1 ? 16 : 64;
#else
template <class E>
inline constexpr int kShuffled = 16;
#endif

template <class E>
struct Shuffles {
    typedef E Vector __attribute__((vector_size(kShuffled<E>)));
    static constexpr int kLanes = kShuffled<E> / int(sizeof(E));

    template <size_t... I>
    static void interleave(E *to, Vector a, Vector b, std::index_sequence<I...>) {
        const Vector low = __builtin_shufflevector(a, b, int(I / 2 + I % 2 * kLanes)...);
        const Vector high =
            __builtin_shufflevector(a, b, int(kLanes / 2 + I / 2 + I % 2 * kLanes)...);
        std::memcpy(to, &low, sizeof low);
        std::memcpy(to + kLanes, &high, sizeof high);
    }
    template <size_t... I>
    static void separate(E *a, E *b, Vector low, Vector high, std::index_sequence<I...>) {
        const Vector even = __builtin_shufflevector(low, high, int(2 * I)...);
        const Vector odd = __builtin_shufflevector(low, high, int(2 * I + 1)...);
        std::memcpy(a, &even, sizeof even);
        std::memcpy(b, &odd, sizeof odd);
    }
};
}  // namespace detail

// to[2 * i] = a[i], to[2 * i + 1] = b[i]
template <class E>
inline void interleave(E *to, const E *a, const E *b, int64_t n) {
    using S = detail::Shuffles<E>;
    int64_t i = 0;
    for (; i + S::kLanes <= n; i += S::kLanes) {
        typename S::Vector x, y;
        std::memcpy(&x, a + i, sizeof x);
        std::memcpy(&y, b + i, sizeof y);
        S::interleave(to + 2 * i, x, y, std::make_index_sequence<S::kLanes>());
    }
    for (; i < n; ++i) to[2 * i] = a[i], to[2 * i + 1] = b[i];
}

// a[i] = from[2 * i], b[i] = from[2 * i + 1]
template <class E>
inline void separate(E *a, E *b, const E *from, int64_t n) {
    using S = detail::Shuffles<E>;
    int64_t i = 0;
    for (; i + S::kLanes <= n; i += S::kLanes) {
        typename S::Vector low, high;
        std::memcpy(&low, from + 2 * i, sizeof low);
        std::memcpy(&high, from + 2 * i + S::kLanes, sizeof high);
        S::separate(a + i, b + i, low, high, std::make_index_sequence<S::kLanes>());
    }
    for (; i < n; ++i) a[i] = from[2 * i], b[i] = from[2 * i + 1];
}

}  // namespace infini::cpu::program
