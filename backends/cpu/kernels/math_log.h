// Logarithms.
#pragma once

#include "math_basic.h"

namespace infini::cpu {

template <class V>
INFINI_SIMD V log(V x) {
    return detail::in_double(x, [](double lane) { return std::log(lane); });
}
template <class V>
INFINI_SIMD V log2(V x) {
    return detail::in_double(x, [](double lane) { return std::log2(lane); });
}
template <class V>
INFINI_SIMD V log10(V x) {
    return detail::in_double(x, [](double lane) { return std::log10(lane); });
}
template <class V>
INFINI_SIMD V log1p(V x) {
    return detail::in_double(x, [](double lane) { return std::log1p(lane); });
}
template <class V>
INFINI_SIMD V asinh(V x) {
    return detail::in_double(x, [](double lane) { return std::asinh(lane); });
}
template <class V>
INFINI_SIMD V acosh(V x) {
    return detail::in_double(x, [](double lane) { return std::acosh(lane); });
}
template <class V>
INFINI_SIMD V atanh(V x) {
    return detail::in_double(x, [](double lane) { return std::atanh(lane); });
}

}  // namespace infini::cpu
