// The interface of runners, which run the phases of a program, and code that they share.
#pragma once

#include <cstring>
#include <memory>

#include "convert.h"
#include "program/loop_nest.h"

namespace infini::cpu::program {

class Runner {
public:
    virtual ~Runner() = default;
    // `workspace` is the runner's section of the plan's workspace.
    virtual void run(const Arguments &arguments, char *workspace) const = 0;

    size_t workspace = 0;
};

// Elements in a block: gathered, computed and scattered while they are in the L1 cache.
constexpr int64_t kBlock = 1024;

std::unique_ptr<Runner> make_map(LoopNest nest);
// `invariant`: the summation order of a row does not depend on the number of rows.
std::unique_ptr<Runner> make_rows(LoopNest nest, bool invariant);

// Numbers the temporaries so that one reuses the buffer of another of the same kind that is no
// longer read. `kind` is by slot; empty: all are of one kind.
void share_places(LoopNest &nest, const std::vector<char> &kind = {});

// Converts n elements of a tensor, `stride` elements apart, to values and back.
void gather(ValueType type, void *dst, const Slot &slot, const char *src, int64_t n,
            int64_t stride);
void scatter(ValueType type, const Slot &slot, char *dst, const void *src, int64_t n,
             int64_t stride);

// The same for two tensors of one dtype whose elements alternate, from the address of the one that
// comes first. `direct`: without conversion, as elements of the tensors' own type.
void gather_pair(ValueType type, bool direct, void *first, void *second, const Slot &slot,
                 const char *src, int64_t n);
void scatter_pair(ValueType type, bool direct, const Slot &slot, char *dst, const void *first,
                  const void *second, int64_t n);

// Repeats a value for every lane of a vector.
template <class C>
void repeat(char *dst, C value) {
    for (size_t i = 0; i < kSplatBytes / sizeof(C); ++i) reinterpret_cast<C *>(dst)[i] = value;
}

// Converts a number to the value type: integers truncate, negative ones wrap if unsigned.
template <class C>
C shared_value(double value) {
    if constexpr (std::is_floating_point_v<C>)
        return C(value);
    else
        return value < 0 ? C(saturated<int64_t>(value)) : saturated<C>(value);
}

// The shared values of a run, repeated for every lane.
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
