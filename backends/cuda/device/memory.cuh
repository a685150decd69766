// Vectors of neighbouring elements: one access of up to 16 bytes.
#pragma once

namespace infini {

template <class T, int n>
struct alignas(sizeof(T) * n) Vec {
    T value[n];

    INFINI_DEVICE T &operator[](int i) { return value[i]; }
    INFINI_DEVICE const T &operator[](int i) const { return value[i]; }
};

// The number of elements in 16 bytes.
template <class T>
inline constexpr int kWide = 16 / int(sizeof(T));

template <int n, class T>
INFINI_DEVICE Vec<T, n> load(const T *from) {
    return *reinterpret_cast<const Vec<T, n> *>(from);
}
template <int n, class T>
INFINI_DEVICE void store(T *to, const Vec<T, n> &values) {
    *reinterpret_cast<Vec<T, n> *>(to) = values;
}

// For data that is read once and would evict other data from the caches.
template <int n, class T>
INFINI_DEVICE Vec<T, n> load_once(const T *from) {
    if constexpr (sizeof(T) * n == 16)
        return bit_cast<Vec<T, n>>(__ldcs(reinterpret_cast<const uint4 *>(from)));
    else
        return load<n>(from);
}
template <int n, class T>
INFINI_DEVICE void store_once(T *to, const Vec<T, n> &values) {
    if constexpr (sizeof(T) * n == 16)
        __stcs(reinterpret_cast<uint4 *>(to), bit_cast<uint4>(values));
    else
        store(to, values);
}
// Loads 16 bytes that this block reads once and others do not read soon: not cached in L1.
INFINI_DEVICE Vec<uint32_t, 4> load_past_l1(const void *from) {
    Vec<uint32_t, 4> words;
    ptx::load_past_l1(words.value, from);
    return words;
}

// Loads one element, converted. Of two neighbours in a word, the upper one needs no shift.
template <class C, class T, int n>
INFINI_DEVICE C convert_at(const Vec<T, n> &from, int i) {
    if constexpr (kSame<T, bf16> && n % 2 == 0) {
        uint32_t word;
        memcpy(&word, &from.value[i & ~1], sizeof word);
        return convert<C>(bit_cast<float>(i & 1 ? word & 0xffff0000u : word << 16));
    } else {
        return convert<C>(from[i]);
    }
}
// Stores with conversion; pairs of 16 bits take one instruction.
template <class C, class T, int n>
INFINI_DEVICE void widen(const Vec<T, n> &from, C (&to)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) to[i] = convert_at<C>(from, i);
}
template <class T, int n, class C>
INFINI_DEVICE Vec<T, n> narrow(const C (&from)[n]) {
    Vec<T, n> to;
    if constexpr (sizeof(T) == 2 && kIsSmallFloat<T> && n % 2 == 0 && kSame<C, float>) {
        uint32_t pairs[n / 2];
#pragma unroll
        for (int i = 0; i < n / 2; ++i) pairs[i] = pack_pair<T>(from[2 * i], from[2 * i + 1]);
        memcpy(&to, pairs, sizeof to);
    } else {
#pragma unroll
        for (int i = 0; i < n; ++i) to[i] = convert<T>(from[i]);
    }
    return to;
}

}  // namespace infini
