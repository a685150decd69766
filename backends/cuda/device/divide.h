// Division by an invariant: a multiplication and a shift. For host and device.
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
    // For a divisor below 2^31. A divisor of 0 (the size of an empty tensor) is replaced by 1: it
    // is never used, and division by 0 is platform-dependent.
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
