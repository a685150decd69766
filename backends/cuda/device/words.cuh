// Words of one or several elements, moved by one access if the address is aligned.
#pragma once

namespace infini {

// A word W at an address that is aligned for elements E, and for words if `whole`.
template <class W, class E>
INFINI_DEVICE W load_word(const void *from, bool whole) {
    if (sizeof(W) == sizeof(E) && alignof(W) == alignof(E)) return *static_cast<const W *>(from);
    if (whole) return *static_cast<const W *>(from);
    struct Parts {
        E part[sizeof(W) / sizeof(E)];
    } parts;
#pragma unroll
    for (unsigned i = 0; i < sizeof(W) / sizeof(E); ++i)
        parts.part[i] = static_cast<const E *>(from)[i];
    return bit_cast<W>(parts);
}
template <class E, class W>
INFINI_DEVICE void store_word(void *to, const W &word, bool whole) {
    if ((sizeof(W) == sizeof(E) && alignof(W) == alignof(E)) || whole) {
        *static_cast<W *>(to) = word;
        return;
    }
    struct Parts {
        E part[sizeof(W) / sizeof(E)];
    };
    const Parts parts = bit_cast<Parts>(word);
#pragma unroll
    for (unsigned i = 0; i < sizeof(W) / sizeof(E); ++i) static_cast<E *>(to)[i] = parts.part[i];
}

// n elements, in one access if they are aligned.
template <int n, class T>
INFINI_DEVICE Vec<T, n> load_some(const T *from, bool whole) {
    return load_word<Vec<T, n>, T>(from, whole);
}
template <int n, class T>
INFINI_DEVICE void store_some(T *to, const Vec<T, n> &values, bool whole) {
    store_word<T>(to, values, whole);
}

}  // namespace infini
