// Code for the element type of a float tensor. Operators check that the dtype is one of these.
#pragma once

#include "types.h"

namespace infini::cpu {

// f(Type<T>{}) for F16, BF16 and F32.
template <class F>
auto visit_single(int dtype, F &&f) {
    switch (dtype) {
        case INFINI_DTYPE_F16:
            return f(Type<f16>{});
        case INFINI_DTYPE_BF16:
            return f(Type<bf16>{});
        default:
            return f(Type<float>{});
    }
}

// The same, including F64.
template <class F>
auto visit_float(int dtype, F &&f) {
    return dtype == INFINI_DTYPE_F64 ? f(Type<double>{}) : visit_single(dtype, f);
}

}  // namespace infini::cpu
