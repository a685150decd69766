// Writing to memory that nobody reads soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace infini::cpu {

// Copies at most 64 bytes, in at most four moves each way: their ranges overlap instead of a tail loop.
inline void copy_short(char *to, const char *from, int64_t bytes) {
    auto both_ends = [&](auto size) {
        constexpr int64_t kSize = size.value;
        char head[kSize], tail[kSize];
        std::memcpy(head, from, kSize);
        std::memcpy(tail, from + bytes - kSize, kSize);
        std::memcpy(to, head, kSize);
        std::memcpy(to + bytes - kSize, tail, kSize);
    };
    if (bytes >= 32)
        both_ends(std::integral_constant<int64_t, 32>());
    else if (bytes >= 16)
        both_ends(std::integral_constant<int64_t, 16>());
    else if (bytes >= 8)
        both_ends(std::integral_constant<int64_t, 8>());
    else if (bytes >= 4)
        both_ends(std::integral_constant<int64_t, 4>());
    else
        for (int64_t i = 0; i < bytes; ++i) to[i] = from[i];
}

// Copies a row; with `streams` past the caches, where the machine can and whole lines are written.
inline void write_row(char *to, const char *from, int64_t bytes, [[maybe_unused]] bool streams) {
#if defined(__AVX512F__)
    if (streams && ((uintptr_t(to) | uintptr_t(bytes)) & 63) == 0) {
        for (int64_t i = 0; i < bytes; i += 64)
            _mm512_stream_si512(reinterpret_cast<__m512i *>(to + i), _mm512_loadu_si512(from + i));
        return;
    }
#elif defined(__SSE2__)
    if (streams && ((uintptr_t(to) | uintptr_t(bytes)) & 63) == 0) {
        for (int64_t i = 0; i < bytes; i += 16)
            _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                             _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i)));
        return;
    }
#endif
    std::memcpy(to, from, size_t(bytes));
}

// Makes such writes visible to whoever is told that the work is done.
inline void finish_writes([[maybe_unused]] bool streams) {
#if defined(__SSE2__)
    if (streams) _mm_sfence();
#endif
}

}  // namespace infini::cpu
