// Whether the elements of an index are inside a dimension.
#include "index_check.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>
#include <vector>

#include "../../core/numbers.h"
#include "../runtime/raise_error.h"
#include "exchange.h"
#include "view.h"

using namespace nanobind::literals;

namespace infini::python {

namespace core = infinicore::detail;

namespace {

struct Dim {
    size_t size;
    std::ptrdiff_t stride;
};

// The dimensions from the largest stride to the smallest, merged where strides allow it: the order
// of the elements does not matter here.
std::vector<Dim> dims_of(const TensorImpl &tensor) {
    std::vector<Dim> sorted, joined;
    for (size_t d = 0; d < tensor.ndim(); ++d)
        if (tensor.shape()[d] != 1) sorted.push_back({tensor.shape()[d], tensor.strides()[d]});
    std::stable_sort(sorted.begin(), sorted.end(), [](const Dim &a, const Dim &b) {
        return std::abs(a.stride) > std::abs(b.stride);
    });
    for (const Dim &dim : sorted)
        if (!joined.empty() && joined.back().stride == dim.stride * std::ptrdiff_t(dim.size))
            joined.back() = {joined.back().size * dim.size, dim.stride};
        else
            joined.push_back(dim);
    if (joined.empty()) joined.push_back({1, 1});
    return joined;
}

// Calls visit(first element, count, stride) for lines that cover a tensor of the host.
template <class Visit>
void each_line(const TensorImpl &tensor, const Visit &visit) {
    std::vector<Dim> dims = dims_of(tensor);
    const Dim line = dims.back();
    dims.pop_back();
    std::vector<size_t> at(dims.size(), 0);
    const auto bytes = std::ptrdiff_t(tensor.element_size());
    const std::byte *from = tensor.data();
    for (size_t left = tensor.numel() / line.size; left > 0; --left) {
        visit(from, line.size, line.stride);
        for (size_t d = dims.size(); d-- > 0;) {
            from += dims[d].stride * bytes;
            if (++at[d] < dims[d].size) break;
            from -= dims[d].stride * bytes * std::ptrdiff_t(at[d]);
            at[d] = 0;
        }
    }
}

// The sign bits say whether some element is negative, below -size, or not below size.
struct Signs {
    uint64_t below_zero = 0, below = 0, above = 0;

    void operator|=(const Signs &other) {
        below_zero |= other.below_zero, below |= other.below, above |= other.above;
    }
    bool are_inside() const { return int64_t(below | above) >= 0; }
    bool has_negative() const { return int64_t(below_zero) < 0; }
};

// Compiled for several instruction sets where the compiler can choose among them at run time.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define INFINI_FOR_MACHINES \
    [[gnu::noinline, gnu::optimize("O3"), gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define INFINI_FOR_MACHINES
#endif

// Whether all are from 0 to size - 1: the common case, which is faster to check.
INFINI_FOR_MACHINES bool are_plain(const int64_t *values, size_t count, uint64_t size) {
#if defined(__x86_64__)
    uint64_t signs = 0;
    for (size_t i = 0; i < count; ++i)
        signs |= uint64_t(values[i]) | (size - 1 - uint64_t(values[i]));
    return int64_t(signs) >= 0;
#else
    // The upper words must be 0, and the lower ones below size: their maximum is one vector
    // instruction.
    if (size > UINT32_MAX || std::endian::native != std::endian::little) return false;
    const auto *words = reinterpret_cast<const uint32_t *>(values);
    uint32_t upper = 0, most = 0;
    for (size_t i = 0; i < count; ++i) {
        upper |= words[2 * i + 1];
        most = std::max(most, words[2 * i]);
    }
    return upper == 0 && most < size;
#endif
}

struct Range {
    int64_t least = INT64_MAX, most = INT64_MIN;
};

INFINI_FOR_MACHINES Range range_of(const int64_t *values, size_t count, std::ptrdiff_t stride) {
    Range range;
    auto add = [&range](int64_t value) {
        range = {std::min(range.least, value), std::max(range.most, value)};
    };
    if (stride == 1)
        for (size_t i = 0; i < count; ++i) add(values[i]);
    else
        for (size_t i = 0; i < count; ++i) add(values[std::ptrdiff_t(i) * stride]);
    return range;
}

// Without branches, so that a line without gaps is vectorised: one thread reads all indices.
template <class T>
Signs signs_of(const T *values, size_t count, std::ptrdiff_t stride, uint64_t size) {
    Signs signs;
    auto add = [&signs, size](T element) {
        const auto value = uint64_t(int64_t(element));
        signs |= {value, value + size, size - 1 - value};
    };
    if constexpr (std::is_same_v<T, int64_t>)
        if (stride == 1 && are_plain(values, count, size)) return signs;
    if (stride == 1)
        for (size_t i = 0; i < count; ++i) add(values[i]);
    else
        for (size_t i = 0; i < count; ++i) add(values[std::ptrdiff_t(i) * stride]);
    return signs;
}

template <class Visit>
void with_integer(DataType dtype, const Visit &visit) {
    switch (dtype) {
        case DataType::I8:
            return visit(int8_t{});
        case DataType::I16:
            return visit(int16_t{});
        case DataType::I32:
            return visit(int32_t{});
        case DataType::I64:
            return visit(int64_t{});
        case DataType::U16:
            return visit(uint16_t{});
        case DataType::U32:
            return visit(uint32_t{});
        case DataType::U64:
            return visit(uint64_t{});
        default:
            return visit(uint8_t{});
    }
}

[[noreturn]] void refuse(const std::string &function, DataType dtype, const std::byte *from,
                         long long size, int dim) {
    const bool has_sign = core::kind_of(dtype) == core::NumberKind::Signed;
    const nb::int_ index = has_sign ? nb::int_(core::signed_value(dtype, from))
                                    : nb::int_(core::unsigned_value(dtype, from));
    raise_error(PyExc_IndexError, "%s%sindex %S is out of bounds for dimension %d of size %lld",
                function.c_str(), function.empty() ? "" : ": ", index.ptr(), dim, size);
}

// Raises for an index that is out of range for this size. Returns whether some are negative.
bool has_negative(const std::string &function, const Tensor &tensor, long long size, int dim) {
    if (tensor->numel() == 0) return false;
    const Tensor host = on_host(tensor, "indexing");
    const DataType dtype = host->dtype();
    Signs signs;
    const std::byte *bad = nullptr;
    with_integer(dtype, [&]<class T>(T) {
        each_line(*host, [&](const std::byte *from, size_t count, std::ptrdiff_t stride) {
            signs |= signs_of(reinterpret_cast<const T *>(from), count, stride, uint64_t(size));
        });
        // A large unsigned number looks negative above.
        if (signs.are_inside() && !(std::is_unsigned_v<T> && signs.has_negative())) return;
        each_line(*host, [&](const std::byte *from, size_t count, std::ptrdiff_t stride) {
            for (size_t i = 0; i < count && !bad; ++i, from += stride * std::ptrdiff_t(sizeof(T))) {
                const T value = *reinterpret_cast<const T *>(from);
                if (std::cmp_less(value, -size) || std::cmp_greater_equal(value, size)) bad = from;
            }
        });
    });
    if (bad) refuse(function, dtype, bad, size, dim);
    return signs.has_negative();
}

bool check_indices(const Tensor &tensor, long long size, int dim) {
    return has_negative({}, tensor, size, dim);
}

// The least and the greatest element of an I64 tensor of the host, which is not empty.
nb::tuple index_range(const Tensor &tensor) {
    const Tensor host = on_host(tensor, "indexing");
    Range all;
    each_line(*host, [&](const std::byte *from, size_t count, std::ptrdiff_t stride) {
        const Range line = range_of(reinterpret_cast<const int64_t *>(from), count, stride);
        all = {std::min(all.least, line.least), std::max(all.most, line.most)};
    });
    return nb::make_tuple(all.least, all.most);
}

// The usual index, checked in one call: I64 for the first dimension. None: another kind of key;
// else whether some are negative, or may be: the host does not wait for a device to check.
nb::object check_rows(const Tensor &tensor, nb::handle key) {
    if (Py_TYPE(key.ptr()) != tensor_type || core::thread_state().recorder) return nb::none();
    const Tensor &index = tensor_of(key.ptr());
    if (index->dtype() != DataType::I64 || tensor->ndim() == 0 ||
        index->device() != tensor->device())
        return nb::none();
    if (index->device().getType() != Device::Type::CPU) return nb::bool_(true);
    return nb::bool_(check_indices(index, (long long)(tensor->shape()[0]), 0));
}

}  // namespace

void check_index_along(const std::string &function, PyObject *input, PyObject *dim,
                       PyObject *index) {
    if (!is_tensor(input) || !is_tensor(index) || Py_TYPE(dim) != &PyLong_Type) return;
    const Tensor &tensor = tensor_of(index);
    const core::NumberKind kind = core::kind_of(tensor->dtype());
    if (tensor->device().getType() != Device::Type::CPU || core::thread_state().recorder ||
        (kind != core::NumberKind::Signed && kind != core::NumberKind::Unsigned))
        return;
    const Shape &shape = tensor_of(input)->shape();
    const auto rank = std::ptrdiff_t(std::max<size_t>(shape.size(), 1));
    std::ptrdiff_t at = PyLong_AsSsize_t(dim);
    if (at == -1 && PyErr_Occurred()) return PyErr_Clear();
    if (at < -rank || at >= rank) return;
    at += at < 0 ? rank : 0;
    const auto size = shape.empty() ? 1 : (long long)(shape[size_t(at)]);
    if (has_negative(function, tensor, size, int(at)))
        raise_error(PyExc_IndexError,
                    "%s: an index for dimension %d is negative: expected 0 or more",
                    function.c_str(), int(at));
}

void bind_index_check(nb::module_ &m) {
    m.def("check_indices", check_indices, "tensor"_a, "size"_a, "dim"_a);
    m.def("index_range", index_range, "tensor"_a);
    m.def("check_rows", check_rows, "tensor"_a, "key"_a);
}

}  // namespace infini::python
