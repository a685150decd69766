// What runs a phase of a program, and what both kinds of runner share.
#pragma once

#include <cstring>
#include <memory>

#include "convert.h"
#include "program/layout.h"

namespace infini::cpu::program {

class Runner {
public:
    virtual ~Runner() = default;
    // `workspace` is the runner's own part of the plan's.
    virtual void run(const Arguments &arguments, char *workspace) const = 0;

    size_t workspace = 0;
};

// Elements in a block: what is gathered, computed and scattered in one go stays in the L1 cache.
constexpr int64_t kBlock = 1024;

std::unique_ptr<Runner> make_map(Layout layout);
std::unique_ptr<Runner> make_rows(Layout layout);

inline void load_bf16(float *dst, const bf16 *src, int64_t n) {
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

inline void store_bf16(bf16 *dst, const float *src, int64_t n) {
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

// n elements of a tensor, `stride` elements apart, as values; and back.
inline void gather(ValueType type, void *dst, const Slot &slot, const char *src, int64_t n,
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
inline void scatter(ValueType type, const Slot &slot, char *dst, const void *src, int64_t n,
                    int64_t stride) {
    with_type(type, [&](auto zero) {
        using C = decltype(zero);
        if (std::is_same_v<C, float> && slot.dtype == INFINI_DTYPE_BF16 && stride == 1)
            store_bf16(reinterpret_cast<bf16 *>(dst), static_cast<const float *>(src), n);
        else
            store_dtype(dst, slot.dtype, static_cast<const C *>(src), size_t(n), ptrdiff_t(stride));
    });
}

// One value, as often as a vector has lanes.
template <class C>
void repeat(char *dst, C value) {
    for (size_t i = 0; i < kSplatBytes / sizeof(C); ++i) reinterpret_cast<C *>(dst)[i] = value;
}

// The shared values of a run, repeated.
struct SharedValues {
    explicit SharedValues(const Layout &layout, const Arguments &arguments) {
        for (const Slot &slot : layout.slots) {
            if (slot.kind != Slot::kShared) continue;
            double value = slot.value;
            int64_t whole = slot.whole;
            if (slot.run_time) {
                whole = slot.integer ? arguments.integer(slot.scalar)
                                     : int64_t(arguments.number(slot.scalar));
                value = slot.integer ? double(whole) : arguments.number(slot.scalar);
            }
            with_type(layout.type, [&](auto zero) {
                using C = decltype(zero);
                repeat(at(slot.number), std::is_floating_point_v<C> ? C(value) : C(whole));
            });
        }
    }
    char *at(int number) { return values[number]; }
    const char *at(int number) const { return values[number]; }

    alignas(64) char values[kMostShared][kSplatBytes];
};

}  // namespace infini::cpu::program
