// Sorts entries: a key of up to 64 bits and an index. Entries are unique, so that any algorithm
// gives the same stable order. Lists are sorted by radix sort; several threads sort chunks
// of long ones and merge them.
#pragma once

#include <algorithm>
#include <cstring>

#include "sort/order.h"

namespace infini::cpu {

// ---- Radix sort ---------------------------------------------------------------------------------

inline constexpr int64_t kCompared = 32;  // entries for which a comparison sort is faster
inline constexpr int64_t kShort = 512;    // entries for which a table of 2^11 counts is too large

// Sorts by `bits` bits of the keys' distances from the least one, `kDigitBits` at a time.
template <int kDigitBits, class K>
void sort_by_digits(Entry<K> *entries, Entry<K> *spare, int64_t n, K least, int bits) {
    constexpr int64_t kDigits = int64_t(1) << kDigitBits;
    constexpr int kMostPasses = (int(sizeof(K)) * 8 + kDigitBits - 1) / kDigitBits;
    const int passes = (bits + kDigitBits - 1) / kDigitBits;
    int32_t counts[kMostPasses][kDigits];
    std::memset(counts, 0, sizeof(counts[0]) * size_t(passes));
    auto digit = [=](const Entry<K> &entry, int pass) {
        return int64_t(K(entry.key() - least) >> (pass * kDigitBits)) & (kDigits - 1);
    };
    for (int64_t i = 0; i < n; ++i)
        for (int pass = 0; pass < passes; ++pass) ++counts[pass][digit(entries[i], pass)];
    Entry<K> *from = entries, *to = spare;
    for (int pass = 0; pass < passes; ++pass) {
        int32_t *next = counts[pass];
        if (next[digit(from[0], pass)] == n) continue;  // all keys have the same digit
        for (int64_t d = 0, sum = 0; d < kDigits; ++d) {
            const int32_t count = next[d];
            next[d] = int32_t(sum);
            sum += count;
        }
        for (int64_t i = 0; i < n; ++i) to[next[digit(from[i], pass)]++] = from[i];
        std::swap(from, to);
    }
    if (from != entries) std::copy_n(from, n, entries);
}

// Sorts by the key; the indices are already ascending. `spare` holds as many entries. The result is
// in `entries`.
template <class K>
void sort_entries(Entry<K> *entries, Entry<K> *spare, int64_t n) {
    if (n < kCompared) {
        std::sort(entries, entries + n);
        return;
    }
    K least = entries[0].key(), most = least;
    for (int64_t i = 1; i < n; ++i) {
        least = std::min(least, entries[i].key());
        most = std::max(most, entries[i].key());
    }
    const int bits = int(std::bit_width(K(most - least)));
    if (n < kShort) return sort_by_digits<8>(entries, spare, n, least, bits);
    sort_by_digits<11>(entries, spare, n, least, bits);
}

// ---- Multithreaded sort -------------------------------------------------------------------------

// How many of the first `count` entries of two merged lists come from the first.
template <class E>
int64_t merge_split(const E *a, int64_t a_size, const E *b, int64_t b_size, int64_t count) {
    int64_t low = std::max<int64_t>(0, count - b_size), high = std::min(count, a_size);
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (a[middle] < b[count - middle - 1])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

inline constexpr int64_t kWorthPieces = 65536;  // entries

// The same as sort_entries, with all threads.
template <class K>
void sort_in_parallel(Entry<K> *entries, Entry<K> *spare, int64_t n) {
    using E = Entry<K>;
    int64_t pieces = 1;
    while (pieces < int64_t(thread_count()) && n / pieces >= kWorthPieces) pieces *= 2;
    auto first = [&](int64_t piece) { return n * piece / pieces; };
    auto each = [](int64_t count, auto body) {
        parallel_for(size_t(count), 1, [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) body(i);
        });
    };
    each(pieces, [&](int64_t piece) {
        const int64_t at = first(piece);
        sort_entries(entries + at, spare + at, first(piece + 1) - at);
    });
    E *from = entries, *to = spare;
    for (int64_t width = 1; width < pieces; width *= 2) {
        // Each thread writes a range of a merged list.
        each(pieces, [&](int64_t part) {
            const int64_t left = part / (2 * width) * (2 * width);
            const E *a = from + first(left), *b = from + first(left + width);
            const int64_t a_size = b - a, b_size = from + first(left + 2 * width) - b;
            const int64_t begin = first(part) - first(left), end = first(part + 1) - first(left);
            const int64_t i = merge_split(a, a_size, b, b_size, begin);
            const int64_t j = merge_split(a, a_size, b, b_size, end);
            std::merge(a + i, a + j, b + (begin - i), b + (end - j), to + first(left) + begin);
        });
        std::swap(from, to);
    }
    if (from != entries)
        each(pieces, [&](int64_t piece) {
            const int64_t at = first(piece);
            std::copy_n(from + at, first(piece + 1) - at, entries + at);
        });
}

}  // namespace infini::cpu
