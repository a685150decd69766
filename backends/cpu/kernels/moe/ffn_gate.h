// The activation between the two products of a feed-forward block.
#pragma once

#include "../convert.h"
#include "../functions.h"

namespace infini::cpu {

enum class Gate { Silu, Swiglu, Situglu };  // infiniopFusedMoeActivation_t

namespace detail {

INFINI_SIMD F32 gate_value(F32 gate, F32 up, Gate kind) {
    F32 one = broadcast<F32>(1.0f), sigmoid = one / (one + exp(-gate));
    if (kind == Gate::Silu) return gate * sigmoid;
    if (kind == Gate::Swiglu) return gate * sigmoid * up;
    return 4.0f * tanh(gate * 0.25f) * sigmoid * (25.0f * tanh(up / 25.0f));
}

template <class T>
void gate_row(Gate kind, const T *wide, T *inner, int64_t n, float scale) {
    constexpr int64_t width = int64_t(kWidth<float>);
    const T *up = kind == Gate::Silu ? wide : wide + n;
    int64_t i = 0;
    for (; i + width <= n; i += width) {
        store_f32(inner + i, gate_value(load_f32(wide + i), load_f32(up + i), kind) * scale);
    }
    if (i < n) {
        size_t left = size_t(n - i);
        F32 value = gate_value(load_f32(wide + i, left), load_f32(up + i, left), kind) * scale;
        store_f32(inner + i, value, left);
    }
}

}  // namespace detail

// A row after the first product, [n] or gates and ups [2 n], to n values, each times `scale`.
template <class T>
void apply_gate(Gate kind, const T *wide, T *inner, int64_t n, float scale = 1.0f) {
    switch (kind) {
        case Gate::Silu:
            return detail::gate_row(Gate::Silu, wide, inner, n, scale);
        case Gate::Swiglu:
            return detail::gate_row(Gate::Swiglu, wide, inner, n, scale);
        case Gate::Situglu:
            return detail::gate_row(Gate::Situglu, wide, inner, n, scale);
    }
}

}  // namespace infini::cpu
