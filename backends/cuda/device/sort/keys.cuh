// sort, topk and kthvalue: lines, and entries of a key and an index.
#pragma once

#include "offsets.h"

namespace infini {

// Lines in memory.
struct SortLines {
    Offsets offsets;  // of the lines
    int64_t step = 1;
};

// Keys and indices in the workspace, `pitch` per line.
struct Entries {
    void *keys = nullptr;
    uint32_t *places = nullptr;
    int64_t pitch = 0;
};

// One tile of entries, sorted by a block: one line, or several short ones.
struct TileParams {
    const void *x;
    void *values, *places;
    SortLines from, to, stood;
    Entries in;  // kEntries: instead of the elements of lines
    int64_t lines;
    int32_t size;          // elements per line
    int32_t padded;        // rounded up to a power of two
    int32_t together;      // lines per block
    int32_t first, count;  // range of the sorted line to write
};

// The `count` first entries of each chunk of a line.
struct SelectParams {
    const void *x;
    SortLines from;
    Entries in, out;
    int64_t lines, size;
    int32_t piece, pieces, count;
    int32_t vector;
};

// A radix sort.
struct RadixParams {
    const void *x;
    void *values, *places;
    SortLines from, to, stood;
    Entries rooms[2];
    uint32_t *counts;     // [line][part][pass][digit]
    uint32_t *starts;     // [line][pass][digit]
    uint32_t *idle;       // [line][pass]
    uint32_t *states[2];  // [line][tile][digit], for a pass and the next one
    uint32_t *tickets;    // [pass]
    int64_t lines, size;
    int64_t part;          // elements counted by one block
    int32_t parts, tiles;  // per line
    int32_t pass, vector;
    int64_t first, count;  // range of the sorted line to write in the last pass
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// Unsigned keys in the order of the values: NaN is greatest, both zeros are equal. With kDescending
// the order is reversed. Keys have as few bits as needed to distinguish the values.
namespace infini {

using Key = Choose<sizeof(T) == 8, uint64_t, uint32_t>;
inline constexpr int kKeyBits = kSame<T, boolean> ? 1 : int(sizeof(T)) * 8;
inline constexpr Key kLastKey = Key(~Key(0)) >> (int(sizeof(Key)) * 8 - kKeyBits);

template <class U>
INFINI_DEVICE Key order_key(U value) {
    Key key;
    if constexpr (kSame<U, boolean>) {
        key = value.bits != 0;
    } else if constexpr (kIsFloat<U>) {
        using Bits = Choose<sizeof(U) == 8, uint64_t, Choose<sizeof(U) == 4, uint32_t, uint16_t>>;
        constexpr Bits kSign = Bits(Bits(1) << (sizeof(U) * 8 - 1));
        constexpr Bits kInfinite = kSame<U, double>  ? Bits(0x7ff0000000000000)
                                   : kSame<U, float> ? Bits(0x7f800000)
                                   : kSame<U, bf16>  ? Bits(0x7f80)
                                                     : Bits(0x7c00);
        const Bits bits = bit_cast<Bits>(value), size = Bits(bits & Bits(~kSign));
        const Bits turned = bits & kSign ? Bits(-size) : size;
        key = Key(Bits(turned + kSign));
        if (size > kInfinite) key = kLastKey;
    } else if constexpr (kIsSigned<U>) {
        // The smallest value becomes 0.
        key = (Key(value) + (Key(1) << (sizeof(U) * 8 - 1))) & kLastKey;
    } else {
        key = Key(value);
    }
    return kDescending ? kLastKey - key : key;
}

// Whether the key belongs to a single value. This is false for zeros, NaNs, and booleans that are
// true.
template <class U>
INFINI_DEVICE bool has_one_value(Key key) {
    if constexpr (kIsFloat<U>) {
        constexpr Key kZero = Key(1) << (kKeyBits - 1);
        return key != (kDescending ? 0 : kLastKey) &&
               key != (kDescending ? kLastKey - kZero : kZero);
    } else {
        return !kSame<U, boolean>;
    }
}
// The value of such a key.
template <class U>
INFINI_DEVICE U value_of(Key key) {
    if constexpr (kDescending) key = kLastKey - key;
    if constexpr (kSame<U, boolean>) {
        return {uint8_t(key)};
    } else if constexpr (kIsFloat<U>) {
        using Bits = Choose<sizeof(U) == 8, uint64_t, Choose<sizeof(U) == 4, uint32_t, uint16_t>>;
        constexpr Bits kSign = Bits(Bits(1) << (sizeof(U) * 8 - 1));
        const Bits turned = Bits(key - kSign);
        return bit_cast<U>(turned & kSign ? Bits(kSign | Bits(-turned)) : turned);
    } else if constexpr (kIsSigned<U>) {
        return U(key - (Key(1) << (sizeof(U) * 8 - 1)));
    } else {
        return U(key);
    }
}

// Entries have different indices, so every sorted order is stable.
INFINI_DEVICE bool precedes(Key a, uint32_t place_a, Key b, uint32_t place_b) {
    return a != b ? a < b : place_a < place_b;
}

}  // namespace infini

#endif  // INFINI_DEVICE
