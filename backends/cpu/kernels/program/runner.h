// What runs a phase of a program, and what both kinds of runner share.
#pragma once

#include <cstring>
#include <memory>

#include "convert.h"
#include "program/loop_nest.h"

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

std::unique_ptr<Runner> make_map(LoopNest nest);
// `invariant`: the order of a row's sums does not depend on how many rows there are.
std::unique_ptr<Runner> make_rows(LoopNest nest, bool invariant);

// Numbers the temporaries so that one has the place of another that nobody reads any more, if both
// are of one kind (by slot; none given: all are).
void share_places(LoopNest &nest, const std::vector<char> &kind = {});

// n elements of a tensor, `stride` elements apart, as values; and back.
void gather(ValueType type, void *dst, const Slot &slot, const char *src, int64_t n,
            int64_t stride);
void scatter(ValueType type, const Slot &slot, char *dst, const void *src, int64_t n,
             int64_t stride);

// One value, as often as a vector has lanes.
template <class C>
void repeat(char *dst, C value) {
    for (size_t i = 0; i < kSplatBytes / sizeof(C); ++i) reinterpret_cast<C *>(dst)[i] = value;
}

// A number as values are: without its fraction for integers, and negative ones wrap if there are
// none.
template <class C>
C shared_value(double value) {
    if constexpr (std::is_floating_point_v<C>)
        return C(value);
    else
        return value < 0 ? C(saturated<int64_t>(value)) : saturated<C>(value);
}

// The shared values of a run, repeated.
struct SharedValues {
    explicit SharedValues(const LoopNest &nest, const Arguments &arguments) {
        for (const Slot &slot : nest.slots) {
            if (slot.kind != Slot::kShared) continue;
            double value = slot.value;
            int64_t whole = slot.whole;
            if (slot.run_time) {
                whole = slot.integer ? arguments.integer(slot.scalar) : 0;
                value = slot.integer ? double(whole) : arguments.number(slot.scalar);
            }
            with_type(nest.type, [&](auto zero) {
                using C = decltype(zero);
                repeat(at(slot.number),
                       slot.integer && std::is_integral_v<C> ? C(whole) : shared_value<C>(value));
            });
        }
    }
    char *at(int number) { return values[number]; }
    const char *at(int number) const { return values[number]; }

    alignas(64) char values[kMostShared][kSplatBytes];
};

}  // namespace infini::cpu::program
