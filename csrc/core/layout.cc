#include "layout.h"

#include <stdexcept>

namespace infinicore {
namespace detail {
namespace {

constexpr std::ptrdiff_t kMostBytes = std::ptrdiff_t{1} << 60;  // additions cannot overflow

template <class List>
std::string join(const List &values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
    return text + "]";
}

[[noreturn]] void too_far(const char *function, const Shape &shape, const Strides &strides) {
    fail(function, "shape " + join(shape) + " with strides " + join(strides) +
                       " reaches over more bytes than memory can have");
}

}  // namespace

Layout layout_of(const TensorImpl &tensor) {
    return {tensor.dtype(),
            {tensor.shape().begin(), tensor.shape().end()},
            {tensor.strides().begin(), tensor.strides().end()}};
}

std::string text_of(const Shape &shape) { return join(shape); }
std::string text_of(const Strides &strides) { return join(strides); }

void fail(const char *function, const std::string &sentence) {
    throw std::runtime_error(std::string(function) + ": " + sentence);
}

Extent extent_of(const char *function, const Shape &shape, const Strides &strides, DataType dtype) {
    if (shape.size() != strides.size())
        fail(function, "strides has " + std::to_string(strides.size()) + " numbers: expected " +
                           std::to_string(shape.size()) + ", as in shape " + join(shape));
    if (shape.size() > kMostDimensions)
        fail(function, "shape has " + std::to_string(shape.size()) +
                           " dimensions: expected at most " + std::to_string(kMostDimensions));
    auto bytes = std::ptrdiff_t(dsize(dtype));
    if (bytes == 0) fail(function, "dtype is " + toString(dtype) + ": expected a data type");
    for (Size size : shape)
        if (size == 0) return {};
    Extent extent{0, bytes};
    // The elements are counted too, for strides may be zero.
    std::ptrdiff_t count = bytes;
    for (size_t i = 0; i < shape.size(); ++i) {
        std::ptrdiff_t reach;
        if (shape[i] > size_t(kMostBytes) ||
            __builtin_mul_overflow(count, std::ptrdiff_t(shape[i]), &count) ||
            __builtin_mul_overflow(std::ptrdiff_t(shape[i] - 1), strides[i], &reach) ||
            __builtin_mul_overflow(reach, bytes, &reach) ||
            __builtin_add_overflow(reach, reach < 0 ? extent.low : extent.high,
                                   reach < 0 ? &extent.low : &extent.high) ||
            count > kMostBytes || extent.low < -kMostBytes || extent.high > kMostBytes)
            too_far(function, shape, strides);
    }
    return extent;
}

}  // namespace detail

Strides contiguous_strides(const Shape &shape) {
    Strides strides(shape.size());
    size_t count = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = Stride(count);
        count *= shape[i] > 1 ? shape[i] : 1;  // may wrap: checked when memory is allocated
    }
    return strides;
}

}  // namespace infinicore
