// Exponentials.
#pragma once

#include "math_basic.h"

namespace infini::cpu {

template <class V>
INFINI_SIMD V exp(V x) {
    return detail::in_double(x, [](double lane) { return std::exp(lane); });
}
template <class V>
INFINI_SIMD V exp2(V x) {
    return detail::in_double(x, [](double lane) { return std::exp2(lane); });
}
template <class V>
INFINI_SIMD V expm1(V x) {
    return detail::in_double(x, [](double lane) { return std::expm1(lane); });
}
template <class V>
INFINI_SIMD V sinh(V x) {
    return detail::in_double(x, [](double lane) { return std::sinh(lane); });
}
template <class V>
INFINI_SIMD V cosh(V x) {
    return detail::in_double(x, [](double lane) { return std::cosh(lane); });
}
template <class V>
INFINI_SIMD V tanh(V x) {
    return detail::in_double(x, [](double lane) { return std::tanh(lane); });
}
template <class V>
INFINI_SIMD V sigmoid(V x) {
    return detail::in_double(x, [](double lane) { return 1 / (1 + std::exp(-lane)); });
}

}  // namespace infini::cpu
