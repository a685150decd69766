// Division by a number that the host knows: a product and a shift. For host and device.
#pragma once

#ifdef INFINI_DEVICE
#define INFINI_BOTH INFINI_DEVICE
#else
#include <cstdint>
#define INFINI_BOTH inline
#endif

namespace infini {

struct Quotient {
    uint32_t quotient, remainder;
};

// n / divisor for n < 2^31.
struct Divider {
    uint32_t divisor = 1, factor = 0, shift = 0;

    Divider() = default;
    // Of a divisor below 2^31. One of 0, the size of what is empty, is taken for 1: nothing is
    // divided by it, and processors differ in what such a division does.
    INFINI_BOTH explicit Divider(uint32_t by) : divisor(by ? by : 1), factor(0), shift(0) {
        by = divisor;
        while (shift < 31 && (uint32_t(1) << shift) < by) ++shift;
        const uint64_t one = 1;
        factor = uint32_t((((one << shift) - by) << 32) / by + 1);
    }
    INFINI_BOTH uint32_t divide(uint32_t n) const {
        const uint32_t high = uint32_t((uint64_t(n) * factor) >> 32);
        return (high + n) >> shift;
    }
    INFINI_BOTH Quotient split(uint32_t n) const {
        const uint32_t q = divide(n);
        return {q, n - q * divisor};
    }
};

}  // namespace infini
