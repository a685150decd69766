// Sines and their kind.
#pragma once

#include "math_basic.h"

namespace infini::cpu {

template <class V>
INFINI_SIMD V sin(V x) {
    return detail::in_double(x, [](double lane) { return std::sin(lane); });
}
template <class V>
INFINI_SIMD V cos(V x) {
    return detail::in_double(x, [](double lane) { return std::cos(lane); });
}
template <class V>
INFINI_SIMD V tan(V x) {
    return detail::in_double(x, [](double lane) { return std::tan(lane); });
}
template <class V>
INFINI_SIMD V asin(V x) {
    return detail::in_double(x, [](double lane) { return std::asin(lane); });
}
template <class V>
INFINI_SIMD V acos(V x) {
    return detail::in_double(x, [](double lane) { return std::acos(lane); });
}
template <class V>
INFINI_SIMD V atan(V x) {
    return detail::in_double(x, [](double lane) { return std::atan(lane); });
}

}  // namespace infini::cpu
