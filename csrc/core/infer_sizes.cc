// The functions that declarations name in `sizes`.
#include <algorithm>

#include "infer.h"

namespace infinicore::detail {

using infini::floor_divide, infini::minus, infini::plus, infini::times;

namespace {

int64_t at(const Dims &list, size_t index, int64_t missing) {
    return index < list.size() ? list[index] : missing;
}

template <class Size>
Dims each(const Dims &sizes, Size size) {
    Dims made;
    for (size_t i = 0; i < sizes.size(); ++i) made.push_back(size(sizes[i], i));
    return made;
}

// The start of the last window, relative to the first one.
int64_t reach(int64_t size, int64_t kernel, int64_t pad, int64_t dilation) {
    return minus(minus(plus(size, times(2, pad)), times(dilation, minus(kernel, 1))), 1);
}

}  // namespace

Dims operator+(Dims first, const Dims &second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

Dims replaced(const Dims &sizes, int64_t dim, int64_t size) {
    Dims made = sizes;
    const int64_t rank = int64_t(made.size());
    if (dim < 0) dim += rank;
    if (dim >= 0 && dim < rank) made[size_t(dim)] = size;
    return made;
}

Dims products(const Dims &a, const Dims &b) {
    return each(a, [&](int64_t size, size_t i) { return times(size, at(b, i, 1)); });
}

int64_t conv_size(int64_t size, int64_t dim, const Dims &kernel, const Dims &pads,
                  const Dims &strides, const Dims &dilations) {
    const size_t i = size_t(dim);
    const int64_t last = reach(size, at(kernel, i, 1), at(pads, i, 0), at(dilations, i, 1));
    return plus(floor_divide(last, at(strides, i, 1)), 1);
}

Dims conv_sizes(const Dims &sizes, const Dims &kernel, const Dims &pads, const Dims &strides,
                const Dims &dilations) {
    return each(sizes, [&](int64_t size, size_t i) {
        return std::max<int64_t>(conv_size(size, int64_t(i), kernel, pads, strides, dilations), 0);
    });
}

Dims conv_transpose_sizes(const Dims &sizes, const Dims &kernel, const Dims &pads,
                          const Dims &strides, const Dims &dilations, const Dims &output_pads) {
    return each(sizes, [&](int64_t size, size_t i) {
        int64_t made = times(minus(size, 1), at(strides, i, 1));
        made = minus(made, times(2, at(pads, i, 0)));
        made = plus(made, times(at(dilations, i, 1), minus(at(kernel, i, 1), 1)));
        return std::max<int64_t>(plus(plus(made, at(output_pads, i, 0)), 1), 0);
    });
}

int64_t pool_size(int64_t size, int64_t dim, const Dims &kernel, const Dims &strides,
                  const Dims &pads) {
    const size_t i = size_t(dim);
    const int64_t last = reach(size, at(kernel, i, 1), at(pads, i, 0), 1);
    return plus(floor_divide(last, at(strides, i, at(kernel, i, 1))), 1);
}

Dims pool_sizes(const Dims &sizes, const Dims &kernel, const Dims &strides, const Dims &pads,
                const Dims &dilations, bool ceil_mode) {
    return each(sizes, [&](int64_t size, size_t i) {
        const int64_t wide = at(kernel, i, 1), pad = at(pads, i, 0);
        const int64_t stride = std::max<int64_t>(at(strides, i, wide), 1);
        const int64_t last = reach(size, wide, pad, at(dilations, i, 1));
        int64_t windows = floor_divide(last, stride);
        if (ceil_mode)  // the last window begins inside the image or its left padding
            windows = std::min(minus(0, floor_divide(minus(0, last), stride)),
                               floor_divide(minus(plus(size, pad), 1), stride));
        return plus(std::max<int64_t>(windows, -1), 1);
    });
}

Dims padded_sizes(const Dims &sizes, const Dims &pads) {
    return each(sizes, [&](int64_t size, size_t i) {
        const size_t first = 2 * (sizes.size() - i) - 2;
        return std::max<int64_t>(plus(size, plus(at(pads, first, 0), at(pads, first + 1, 0))), 0);
    });
}

Dims scaled_sizes(const Dims &sizes, const Dims &size, const std::vector<double> &factors) {
    if (!size.empty()) return size;
    if (factors.empty()) throw NotGiven{};
    return each(sizes, [&](int64_t each, size_t) { return int64_t(double(each) * factors[0]); });
}

}  // namespace infinicore::detail
