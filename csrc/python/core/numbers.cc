#include "numbers.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "../runtime/raise_error.h"

namespace infini::python {

using infinicore::DataType;

namespace {

// Rounds to a narrow float, to nearest even. `fraction` and `exponent` are bit counts; e4m3fn has
// no infinity.
uint32_t narrow_float(double value, int exponent_bits, int fraction_bits, bool has_infinity) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t sign = std::signbit(value) ? 1u << (exponent_bits + fraction_bits) : 0;
    const uint32_t top = ((1u << exponent_bits) - 1) << fraction_bits;
    const uint32_t nan =
        has_infinity ? top | 1u << (fraction_bits - 1) : top | ((1u << fraction_bits) - 1);
    if (std::isnan(value)) return sign | nan;
    const double size = std::fabs(value);
    const double greatest = has_infinity
                                ? std::ldexp(2 - std::ldexp(1, -fraction_bits), bias)
                                : std::ldexp(2 - std::ldexp(1, 1 - fraction_bits), bias + 1);
    if (size == 0) return sign;
    int exponent;
    std::frexp(size, &exponent);
    exponent = std::max(exponent - 1, 1 - bias);
    const double unit = std::ldexp(1, exponent - fraction_bits);
    const double rounded = std::nearbyint(size / unit) * unit;
    if (rounded > greatest) return sign | (has_infinity ? top : nan);
    const auto steps = uint32_t(rounded / unit);             // with the hidden bit
    if (steps < (1u << fraction_bits)) return sign | steps;  // subnormal
    const int carried = steps >> (fraction_bits + 1);
    const uint32_t field = uint32_t(exponent + carried + bias);
    return sign | field << fraction_bits |
           ((carried ? steps >> 1 : steps) & ((1u << fraction_bits) - 1));
}

template <class T>
size_t put(T value, void *to) {
    std::memcpy(to, &value, sizeof value);
    return sizeof value;
}

[[noreturn]] void too_great(PyObject *number, DataType dtype) {
    raise_error(PyExc_OverflowError, "%R does not fit into an element of type %s", number,
                infinicore::toString(dtype).c_str());
}

template <class T>
size_t put_integer(PyObject *number, DataType dtype, void *to) {
    nb::object whole = PyFloat_Check(number) ? nb::steal(PyNumber_Long(number))
                                             : nb::steal(PyNumber_Index(number));
    if (!whole.is_valid()) throw nb::python_error();
    if constexpr (sizeof(T) == 8 && !std::numeric_limits<T>::is_signed) {
        unsigned long long value = PyLong_AsUnsignedLongLong(whole.ptr());
        if (PyErr_Occurred()) {
            PyErr_Clear();
            too_great(number, dtype);
        }
        return put<T>(T(value), to);
    } else {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
        if (overflow || value < (long long)(std::numeric_limits<T>::min()) ||
            (sizeof(T) < 8 && value > (long long)(std::numeric_limits<T>::max())))
            too_great(number, dtype);
        return put<T>(T(value), to);
    }
}

}  // namespace

size_t encode_number(PyObject *number, DataType dtype, void *to) {
    switch (dtype) {
        case DataType::BOOL: {
            int truth = PyObject_IsTrue(number);
            if (truth < 0) throw nb::python_error();
            return put<uint8_t>(uint8_t(truth), to);
        }
        case DataType::BYTE:
        case DataType::U8:
            return put_integer<uint8_t>(number, dtype, to);
        case DataType::I8:
            return put_integer<int8_t>(number, dtype, to);
        case DataType::I16:
            return put_integer<int16_t>(number, dtype, to);
        case DataType::I32:
            return put_integer<int32_t>(number, dtype, to);
        case DataType::I64:
            return put_integer<int64_t>(number, dtype, to);
        case DataType::U16:
            return put_integer<uint16_t>(number, dtype, to);
        case DataType::U32:
            return put_integer<uint32_t>(number, dtype, to);
        case DataType::U64:
            return put_integer<uint64_t>(number, dtype, to);
        default:
            break;
    }
    const double value = PyFloat_AsDouble(number);
    if (value == -1 && PyErr_Occurred()) throw nb::python_error();
    switch (dtype) {
        case DataType::F32:
            return put<float>(float(value), to);
        case DataType::F64:
            return put<double>(value, to);
        case DataType::F16:
            return put<uint16_t>(uint16_t(narrow_float(value, 5, 10, true)), to);
        case DataType::BF16:
            return put<uint16_t>(uint16_t(narrow_float(value, 8, 7, true)), to);
        case DataType::F8:
            return put<uint8_t>(uint8_t(narrow_float(value, 4, 3, false)), to);
        default:
            raise_error(PyExc_TypeError, "numbers can't be elements of type %s",
                        infinicore::toString(dtype).c_str());
    }
}

}  // namespace infini::python
