// Arguments of the functions of infinicore::op as operators take them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "infinicore/tensor.hpp"

namespace infinicore::detail {

// A tensor argument with its name.
struct Named {
    const char *name;
    const Tensor &tensor;
};

[[noreturn]] void refuse_empty(const char *function, const char *argument);

// Throws if a handle is empty.
inline void need_tensors(const char *function, std::initializer_list<Named> arguments) {
    for (const Named &each : arguments)
        if (!each.tensor) refuse_empty(function, each.name);
}

// A dimension counted from the front.
inline int64_t from_front(int64_t dim, const Tensor &tensor) {
    const auto rank = int64_t(tensor->ndim());
    return dim < 0 ? dim + (rank ? rank : 1) : dim;
}

// The listed dimensions, or all of them.
inline std::vector<int64_t> dims_or_all(const std::vector<size_t> &dims, const Tensor &tensor) {
    std::vector<int64_t> made(dims.begin(), dims.end());
    for (size_t i = 0; dims.empty() && i < tensor->ndim(); ++i) made.push_back(int64_t(i));
    return made;
}

// "none", "mean" or "sum".
int64_t reduction_of(const char *function, const std::string &word);

[[noreturn]] void refuse(const char *function, const char *reason);

}  // namespace infinicore::detail
