// 16-bit floats, for simulated libraries that compute on the host.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

inline double half_to_double(uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) return mantissa ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(1024 + mantissa, exponent - 25);
}
inline uint16_t double_to_half(double value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    value = std::fabs(value);
    if (value != value) return 0x7e00;
    if (value >= 65520) return sign | 0x7c00;
    int exponent = value > 0 ? std::ilogb(value) : -14;
    if (exponent < -14) exponent = -14;
    const int whole = int(std::nearbyint(std::ldexp(value, 10 - exponent)));  // ties to even
    return uint16_t(sign + ((exponent + 14) << 10) + whole);
}

inline double bfloat_to_double(uint16_t half) {
    const uint32_t bits = uint32_t(half) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}
inline uint16_t double_to_bfloat(double value) {
    const float single = float(value);
    uint32_t bits;
    std::memcpy(&bits, &single, 4);
    return uint16_t(value != value ? bits >> 16 | 64 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
