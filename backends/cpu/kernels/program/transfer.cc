// Conversion between tensors and values: every dtype to and from every value type.
#include "program/runner.h"

namespace infini::cpu::program {

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

}  // namespace infini::cpu::program
