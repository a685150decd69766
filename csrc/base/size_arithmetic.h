// Arithmetic of size expressions in declarations, for generated checks and shape inference.
#pragma once

#include <cstdint>

namespace infini {

// Integer division as in Python: rounds towards minus infinity, and 0 for a divisor of 0.
inline int64_t floor_divide(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return int64_t(-uint64_t(a));
    int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
// Sizes may be anything up to 2^64, so sums and products wrap instead of being undefined.
inline int64_t plus(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
inline int64_t minus(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
inline int64_t times(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
inline double plus(double a, double b) { return a + b; }
inline double minus(double a, double b) { return a - b; }
inline double times(double a, double b) { return a * b; }
inline int64_t modulo(int64_t a, int64_t b) { return minus(a, times(floor_divide(a, b), b)); }

// Of a list of sizes; negative indices count from the end, out-of-range sizes are 0.
template <class Sizes>
int64_t product(const Sizes &sizes) {
    int64_t result = 1;
    for (int64_t size : sizes.values) result = times(result, size);
    return result;
}
template <class Sizes>
int64_t size_at(const Sizes &sizes, int64_t index) {
    const int64_t count = int64_t(sizes.values.size());
    if (index < 0) index += count;
    return index >= 0 && index < count ? sizes.values[size_t(index)] : 0;
}

}  // namespace infini
