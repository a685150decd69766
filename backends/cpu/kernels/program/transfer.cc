// Conversion between tensors and values: every dtype to and from every value type.
#include <algorithm>

#include "program/interleave.h"
#include "program/pack.h"
#include "program/runner.h"

namespace infini::cpu::program {
namespace {

constexpr int64_t kPairs = 256;  // elements that are converted in one go

}  // namespace

void gather(ValueType type, void *dst, const Slot &slot, const char *src, int64_t n,
            int64_t stride) {
    with_type(type, [&](auto zero) {
        using C = decltype(zero);
        C *values = static_cast<C *>(dst);
        if (slot.kind == Slot::kPosition) {
            const auto first = reinterpret_cast<intptr_t>(src);  // the offset is the value
            for (int64_t i = 0; i < n; ++i) values[i] = C(first + i * stride);
        } else {
            load_dtype(values, src, slot.dtype, size_t(n), ptrdiff_t(stride));
        }
    });
}
void scatter(ValueType type, const Slot &slot, char *dst, const void *src, int64_t n,
             int64_t stride) {
    with_type(type, [&](auto zero) {
        using C = decltype(zero);
        store_dtype(dst, slot.dtype, static_cast<const C *>(src), size_t(n), ptrdiff_t(stride));
    });
}

void gather_pair(ValueType type, bool direct, void *first, void *second, const Slot &slot,
                 const char *src, int64_t n) {
    with_cell(slot.bytes, [&](auto cell) {
        using E = decltype(cell);
        const E *from = reinterpret_cast<const E *>(src);
        if (direct || slot.dtype == dtype_of(type))
            return separate(static_cast<E *>(first), static_cast<E *>(second), from, n);
        E raw[2][kPairs];
        with_type(type, [&](auto zero) {
            using C = decltype(zero);
            for (int64_t i = 0; i < n; i += kPairs) {
                const int64_t some = std::min(kPairs, n - i);
                separate(raw[0], raw[1], from + 2 * i, some);
                load_dtype(static_cast<C *>(first) + i, raw[0], slot.dtype, size_t(some), 1);
                load_dtype(static_cast<C *>(second) + i, raw[1], slot.dtype, size_t(some), 1);
            }
        });
    });
}
void scatter_pair(ValueType type, bool direct, const Slot &slot, char *dst, const void *first,
                  const void *second, int64_t n) {
    with_cell(slot.bytes, [&](auto cell) {
        using E = decltype(cell);
        E *to = reinterpret_cast<E *>(dst);
        if (direct || slot.dtype == dtype_of(type))
            return interleave(to, static_cast<const E *>(first), static_cast<const E *>(second), n);
        E raw[2][kPairs];
        with_type(type, [&](auto zero) {
            using C = decltype(zero);
            for (int64_t i = 0; i < n; i += kPairs) {
                const int64_t some = std::min(kPairs, n - i);
                store_dtype(raw[0], slot.dtype, static_cast<const C *>(first) + i, size_t(some), 1);
                store_dtype(raw[1], slot.dtype, static_cast<const C *>(second) + i, size_t(some),
                            1);
                interleave(to + 2 * i, raw[0], raw[1], some);
            }
        });
    });
}

}  // namespace infini::cpu::program
