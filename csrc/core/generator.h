// Sequences of random numbers. Operators count through a sequence, so that a seed and a count
// determine the next numbers on every device.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "infinicore.h"

namespace infinicore::detail {

class INFINI_EXPORT Generator {
public:
    constexpr explicit Generator(uint64_t seed) : seed_(seed) {}

    uint64_t seed() const { return seed_.load(); }
    uint64_t taken() const { return taken_.load(); }
    void restart(uint64_t seed, uint64_t taken = 0);

    // The seed, and the first of `count` numbers reserved for the caller.
    std::pair<uint64_t, uint64_t> take(uint64_t count);

private:
    std::atomic<uint64_t> seed_, taken_{0};
};

// The process's default generator.
INFINI_EXPORT Generator &default_generator();
// The generator that this thread uses.
INFINI_EXPORT Generator &thread_generator();
// Null: the default one again. It must outlive its use.
INFINI_EXPORT void set_thread_generator(Generator *generator);

}  // namespace infinicore::detail
