// Elements of tensors as numbers of the host.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "infinicore/types.hpp"

namespace infinicore::detail {

enum class NumberKind { Boolean, Signed, Unsigned, Real, Complex };

inline NumberKind kind_of(DataType dtype) {
    switch (dtype) {
        case DataType::BOOL:
            return NumberKind::Boolean;
        case DataType::I8:
        case DataType::I16:
        case DataType::I32:
        case DataType::I64:
            return NumberKind::Signed;
        case DataType::BYTE:
        case DataType::U8:
        case DataType::U16:
        case DataType::U32:
        case DataType::U64:
            return NumberKind::Unsigned;
        case DataType::C16:
        case DataType::C32:
        case DataType::C64:
        case DataType::C128:
            return NumberKind::Complex;
        default:
            return NumberKind::Real;
    }
}

// The type of the real and imaginary parts; other types are unchanged.
inline DataType part_of(DataType dtype) {
    switch (dtype) {
        case DataType::C16:
            return DataType::F8;
        case DataType::C32:
            return DataType::F16;
        case DataType::C64:
            return DataType::F32;
        case DataType::C128:
            return DataType::F64;
        default:
            return dtype;
    }
}

template <class T>
T read_as(const std::byte *from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline float half_value(uint16_t bits) {
    unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(float(fraction), -24)
                                 : std::ldexp(float(fraction + 1024), int(exponent) - 25);
    return bits & 0x8000 ? -size : size;
}

// e4m3: no infinity, one NaN for each sign.
inline float eight_bit_value(uint8_t bits) {
    unsigned exponent = bits >> 3 & 15, fraction = bits & 7;
    float size = (bits & 127) == 127 ? NAN
                 : exponent == 0     ? std::ldexp(float(fraction), -9)
                                     : std::ldexp(float(fraction + 8), int(exponent) - 10);
    return bits & 0x80 ? -size : size;
}

inline double real_value(DataType dtype, const std::byte *from) {
    switch (dtype) {
        case DataType::F8:
        case DataType::C16:
            return eight_bit_value(read_as<uint8_t>(from));
        case DataType::F16:
        case DataType::C32:
            return half_value(read_as<uint16_t>(from));
        case DataType::BF16:
            return std::bit_cast<float>(uint32_t(read_as<uint16_t>(from)) << 16);
        case DataType::F32:
        case DataType::C64:
            return read_as<float>(from);
        case DataType::F64:
        case DataType::C128:
            return read_as<double>(from);
        default:
            return 0;
    }
}

inline int64_t signed_value(DataType dtype, const std::byte *from) {
    switch (dtype) {
        case DataType::I8:
            return read_as<int8_t>(from);
        case DataType::I16:
            return read_as<int16_t>(from);
        case DataType::I32:
            return read_as<int32_t>(from);
        default:
            return read_as<int64_t>(from);
    }
}

inline uint64_t unsigned_value(DataType dtype, const std::byte *from) {
    switch (dtype) {
        case DataType::U16:
            return read_as<uint16_t>(from);
        case DataType::U32:
            return read_as<uint32_t>(from);
        case DataType::U64:
            return read_as<uint64_t>(from);
        default:
            return read_as<uint8_t>(from);
    }
}

}  // namespace infinicore::detail
