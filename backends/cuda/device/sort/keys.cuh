// Numbers as unsigned keys in their order: NaN is the greatest, both zeros are equal. With
// kDescending the keys are turned round. Keys have as few bits as tell the numbers apart.
#pragma once

#include "sort_params.h"

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
        // The smallest becomes 0.
        key = (Key(value) + (Key(1) << (sizeof(U) * 8 - 1))) & kLastKey;
    } else {
        key = Key(value);
    }
    return kDescending ? kLastKey - key : key;
}

// Is there one value alone with this key? Not where it stands for both zeros or for NaNs, or for
// what counts as true.
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
// That value.
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

// Entries are told apart by their places, so every order of them is a stable one.
INFINI_DEVICE bool precedes(Key a, uint32_t place_a, Key b, uint32_t place_b) {
    return a != b ? a < b : place_a < place_b;
}

}  // namespace infini
