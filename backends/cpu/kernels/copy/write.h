// Writes to memory that is not read soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace infini::cpu {

// Copies at most 64 bytes, in at most four moves each way: their ranges overlap instead of a tail
// loop.
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

// Stores a chunk of a line that is written completely; with `streams` by non-temporal stores, if
// available. Lines must then be aligned.
template <class V>
[[gnu::always_inline]] inline void store_line_part(char *to, V part,
                                                   [[maybe_unused]] bool streams) {
    static_assert(sizeof(V) == 16);
#if defined(__SSE2__)
    if (streams) return _mm_stream_si128(reinterpret_cast<__m128i *>(to), __m128i(part));
#endif
    std::memcpy(to, &part, 16);
}

// Copies a row line by line: memcpy's order makes some CPUs read every line first.
inline void write_row(char *to, const char *from, int64_t bytes, bool streams) {
    typedef uint64_t Part __attribute__((vector_size(16)));
    int64_t i = 0;
    for (; i + 64 <= bytes; i += 64) {
        Part a, b, c, d;
        std::memcpy(&a, from + i, 16);
        std::memcpy(&b, from + i + 16, 16);
        std::memcpy(&c, from + i + 32, 16);
        std::memcpy(&d, from + i + 48, 16);
        store_line_part(to + i, a, streams);
        store_line_part(to + i + 16, b, streams);
        store_line_part(to + i + 32, c, streams);
        store_line_part(to + i + 48, d, streams);
    }
    if (i < bytes) std::memcpy(to + i, from + i, size_t(bytes - i));
}

// Makes such writes visible to threads that are notified of completion.
inline void finish_writes([[maybe_unused]] bool streams) {
#if defined(__SSE2__)
    if (streams) _mm_sfence();
#endif
}

}  // namespace infini::cpu
