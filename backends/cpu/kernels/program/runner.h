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
constexpr int kMostInputs = 24, kMostOutputs = 8, kMostOperands = 64;

std::unique_ptr<Runner> make_map(Layout layout);
std::unique_ptr<Runner> make_rows(Layout layout);

// n elements of a tensor, `stride` elements apart, as values; and back.
inline void gather(ValueType type, void *dst, const Slot &slot, const char *src, int64_t n,
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
inline void scatter(ValueType type, const Slot &slot, char *dst, const void *src, int64_t n,
                    int64_t stride) {
    with_type(type, [&](auto zero) {
        using C = decltype(zero);
        store_dtype(dst, slot.dtype, static_cast<const C *>(src), size_t(n), ptrdiff_t(stride));
    });
}

// One value, as often as a vector has lanes.
inline void repeat(ValueType type, char *dst, const void *value) {
    const size_t bytes = type == kFloat ? 4 : 8;
    for (size_t at = 0; at < kSplatBytes; at += bytes) std::memcpy(dst + at, value, bytes);
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
                C one = std::is_floating_point_v<C> ? C(value) : C(whole);
                repeat(layout.type, at(slot.number), &one);
            });
        }
    }
    char *at(int number) { return values[number]; }
    const char *at(int number) const { return values[number]; }

    alignas(64) char values[kMostInputs][kSplatBytes];
};

}  // namespace infini::cpu::program
