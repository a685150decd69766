// The layout of a tensor (dtype, shape, strides), the bytes that it touches, computed without
// overflow, and its text for messages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "infinicore/tensor.hpp"

namespace infinicore::detail {

struct Layout {
    DataType dtype;
    std::vector<int64_t> shape, strides;
    bool operator==(const Layout &) const = default;
};

INFINI_EXPORT Layout layout_of(const TensorImpl &tensor);

// Descriptors of operators have no more, nor have other libraries' arrays.
constexpr size_t kMostDimensions = 64;

// Bytes that a layout touches, counted from its first element. Nothing: both are zero.
struct Extent {
    std::ptrdiff_t low = 0;   // of the lowest byte: 0 or less
    std::ptrdiff_t high = 0;  // behind the highest
    size_t bytes() const { return size_t(high - low); }
};

// Throws when shape and strides do not belong together, or reach further than memory can.
INFINI_EXPORT Extent extent_of(const char *function, const Shape &shape, const Strides &strides,
                               DataType dtype);

INFINI_EXPORT std::string text_of(const Shape &shape);  // "[2, 3]"
INFINI_EXPORT std::string text_of(const Strides &strides);

[[noreturn]] INFINI_EXPORT void fail(const char *function, const std::string &sentence);

}  // namespace infinicore::detail
