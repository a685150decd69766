#include "values.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <limits>

#include "../runtime/raise_error.h"

namespace infini::python {
namespace {

int64_t integer(nb::handle item, int64_t low, int64_t high) {
    nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    long long value = PyLong_AsLongLong(index.ptr());
    if (value == -1 && PyErr_Occurred()) throw nb::python_error();
    if (value < low || value > high)
        raise_error(PyExc_OverflowError, "expected a number from %lld to %lld, got %S",
                    static_cast<long long>(low), static_cast<long long>(high), item.ptr());
    return value;
}

double number(nb::handle item) {
    double value = PyFloat_AsDouble(item.ptr());
    if (value == -1.0 && PyErr_Occurred()) throw nb::python_error();
    return value;
}

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
constexpr int64_t kLowestInt = std::numeric_limits<int32_t>::min();
constexpr int64_t kHighestInt = std::numeric_limits<int32_t>::max();

template <class T>
void append(std::vector<int64_t> &bytes, size_t index, T value) {
    std::memcpy(reinterpret_cast<char *>(bytes.data()) + index * sizeof value, &value,
                sizeof value);
}

}  // namespace

void *Values::list(char kind, nb::handle items) {
    if (items.is_none()) return nullptr;
    counts_.back() = nb::len(items);
    std::vector<int64_t> &bytes = lists_.emplace_back(nb::len(items) + 1);  // as wide as the widest
    size_t index = 0;
    for (nb::handle item : items) {
        if (kind == 'L')
            append(bytes, index, integer(item, kLowest, kHighest));
        else if (kind == 'I')
            append(bytes, index, int32_t(integer(item, kLowestInt, kHighestInt)));
        else if (kind == 'F')
            append(bytes, index, float(number(item)));
        else
            append(bytes, index, number(item));
        ++index;
    }
    return bytes.data();
}

Values::Values(const char *kinds, nb::handle items) {
    size_t count = std::strlen(kinds);
    if (nb::len(items) != count) throw nb::value_error("a wrong number of values");
    values_.reserve(count);
    for (size_t i = 0; i < count; ++i) {
        nb::object item = items[i];
        Value value{};
        counts_.push_back(0);
        switch (kinds[i]) {
            case '-':
                break;
            case 'i':
                value.i = integer(item, kLowest, kHighest);
                break;
            case 'j':
                value.i = integer(item, kLowestInt, kHighestInt);
                break;
            case 'u':
                value.i = integer(item, 0, kHighest);
                break;
            case 'f':
                value.f = number(item);
                break;
            case 's':
                if (item.is_none()) break;
                value.list = texts_.emplace_back(nb::cast<std::string>(item)).data();
                counts_.back() = texts_.back().size();
                break;
            default:
                value.list = list(kinds[i], item);
        }
        values_.push_back(value);
    }
}

}  // namespace infini::python
