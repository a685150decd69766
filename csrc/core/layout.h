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

// The limit of operator descriptors and of other libraries' arrays.
constexpr size_t kMostDimensions = 64;

// The bytes that a layout touches, relative to its first element. Both are zero if there are none.
struct Extent {
    std::ptrdiff_t low = 0;   // of the lowest byte: 0 or less
    std::ptrdiff_t high = 0;  // past the highest
    size_t bytes() const { return size_t(high - low); }
};

// Throws if shape and strides do not match, or exceed the address space.
INFINI_EXPORT Extent extent_of(const char *function, const Shape &shape, const Strides &strides,
                               DataType dtype);

INFINI_EXPORT std::string text_of(const Shape &shape);  // "[2, 3]"
INFINI_EXPORT std::string text_of(const Strides &strides);

[[noreturn]] INFINI_EXPORT void fail(const char *function, const std::string &sentence);

}  // namespace infinicore::detail
