// The error function.
#pragma once

#include "math_basic.h"

namespace infini::cpu {

template <class V>
INFINI_SIMD V erf(V x) {
    return detail::in_double(x, [](double lane) { return std::erf(lane); });
}
template <class V>
INFINI_SIMD V erfc(V x) {
    return detail::in_double(x, [](double lane) { return std::erfc(lane); });
}

}  // namespace infini::cpu
