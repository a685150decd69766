// Between tensors and values: every dtype to and from every value type, in one place.
#include "program/runner.h"

namespace infini::cpu::program {

namespace {

void load_bf16(float *dst, const bf16 *src, int64_t n) {
    int64_t i = 0;
#if defined(__ARM_NEON)
    for (; i + 8 <= n; i += 8) {
        const uint16x8_t half = vld1q_u16(&src[i].bits);
        store(dst + i, as<F32>(U32(vshll_n_u16(vget_low_u16(half), 16))));
        store(dst + i + 4, as<F32>(U32(vshll_high_n_u16(half, 16))));
    }
#endif
    load_block(dst + i, src + i, size_t(n - i));
}

void store_bf16(bf16 *dst, const float *src, int64_t n) {
    int64_t i = 0;
#if defined(__ARM_NEON)
    // The upper half of a sum that rounds; a NaN is not rounded, but stays one in its upper half.
    auto round = [](F32 v) {
        const U32 u = as<U32>(v), number = as<U32>(v == v);
        const uint16x4_t upper = vaddhn_u32(u, (((u >> 16) & 1u) + 0x7fffu) & number);
        return vorr_u16(upper, vmovn_u32(~number & 0x40u));
    };
    for (; i + 8 <= n; i += 8)
        vst1q_u16(&dst[i].bits,
                  vcombine_u16(round(load<F32>(src + i)), round(load<F32>(src + i + 4))));
#endif
    store_block(dst + i, src + i, size_t(n - i));
}

}  // namespace

void gather(ValueType type, void *dst, const Slot &slot, const char *src, int64_t n,
            int64_t stride) {
    with_type(type, [&](auto zero) {
        using C = decltype(zero);
        C *values = static_cast<C *>(dst);
        if (slot.kind == Slot::kPosition) {
            const auto first = reinterpret_cast<intptr_t>(src);  // the offset is the value
            for (int64_t i = 0; i < n; ++i) values[i] = C(first + i * stride);
        } else if (std::is_same_v<C, float> && slot.dtype == INFINI_DTYPE_BF16 && stride == 1) {
            load_bf16(reinterpret_cast<float *>(values), reinterpret_cast<const bf16 *>(src), n);
        } else {
            load_dtype(values, src, slot.dtype, size_t(n), ptrdiff_t(stride));
        }
    });
}
void scatter(ValueType type, const Slot &slot, char *dst, const void *src, int64_t n,
             int64_t stride) {
    with_type(type, [&](auto zero) {
        using C = decltype(zero);
        if (std::is_same_v<C, float> && slot.dtype == INFINI_DTYPE_BF16 && stride == 1)
            store_bf16(reinterpret_cast<bf16 *>(dst), static_cast<const float *>(src), n);
        else
            store_dtype(dst, slot.dtype, static_cast<const C *>(src), size_t(n), ptrdiff_t(stride));
    });
}

}  // namespace infini::cpu::program
