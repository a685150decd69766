// layer_norm and rms_norm: a row passes through L1 once per fold and once for its results.
#include "norm/rows.h"

namespace infini::cpu::norm {
namespace {

template <class T>
void layer_norm_row(T *y, const T *x, const T *weight, const T *bias, size_t n, float eps) {
    const float count = float(n);
    const float mean = sum_of(x, n, [](F32 v) { return v; }) / count;
    const float squares = sum_of(x, n, [mean](F32 v) { return (v - mean) * (v - mean); });
    const float factor = 1.0f / std::sqrt(squares / count + eps);
    if (bias)
        map_row(y, x, n, [=](F32 v, auto part) {
            return fma(F32((v - mean) * factor), part(weight), part(bias));
        });
    else
        map_row(y, x, n, [=](F32 v, auto part) { return (v - mean) * factor * part(weight); });
}

template <class T, class W>
void rms_norm_row(T *y, const T *x, const W *weight, size_t n, float eps) {
    const float squares = sum_of(x, n, [](F32 v) { return v * v; });
    const float factor = 1.0f / std::sqrt(squares / float(n) + eps);
    map_row(y, x, n, [=](F32 v, auto part) { return v * part(weight) * factor; });
}

bool is_dense(const Tensor &row) { return row.size(0) == 1 || row.stride(0) == 1; }

std::unique_ptr<Plan> plan_layer_norm(const Operation &operation) {
    const Tensor y = operation.tensor(0), weight = operation.tensor(4), bias = operation.tensor(5);
    RowPairs pairs;
    if (operation.tensor(1) || operation.tensor(2)) return nullptr;  // optional results
    if (!is_dense(weight) || (bias && !is_dense(bias))) return nullptr;
    if (!pairs.init(y, operation.tensor(3)) || is_narrow(pairs)) return nullptr;
    const float eps = float(operation.number(0));
    const bool biased = bool(bias);
    std::unique_ptr<Plan> plan;
    with_float(y.dtype, [&]<class T>(T) {
        plan = make_plan([=](const Arguments &a) {
            const T *weight = a.pointer<T>(4), *bias = biased ? a.pointer<T>(5) : nullptr;
            const size_t n = size_t(pairs.length);
            parallel_for(size_t(pairs.rows), grain_of(pairs.length, 10), [&](size_t b, size_t e) {
                pairs.each(a.pointer<T>(0), a.pointer<const T>(3), b, e,
                           [&](T *y, const T *x) { layer_norm_row(y, x, weight, bias, n, eps); });
            });
        });
    });
    return plan;
}

std::unique_ptr<Plan> plan_rms_norm(const Operation &operation) {
    const Tensor y = operation.tensor(0), weight = operation.tensor(2);
    RowPairs pairs;
    if (!is_dense(weight) || !pairs.init(y, operation.tensor(1)) || is_narrow(pairs))
        return nullptr;
    const float eps = float(operation.number(0));
    std::unique_ptr<Plan> plan;
    auto make = [&]<class T, class W>(T, W) {
        plan = make_plan([=](const Arguments &a) {
            const W *weight = a.pointer<W>(2);
            const size_t n = size_t(pairs.length);
            parallel_for(size_t(pairs.rows), grain_of(pairs.length, 7), [&](size_t b, size_t e) {
                pairs.each(a.pointer<T>(0), a.pointer<const T>(1), b, e,
                           [&](T *y, const T *x) { rms_norm_row(y, x, weight, n, eps); });
            });
        });
    };
    with_float(y.dtype, [&]<class T>(T zero) {
        if (weight.dtype == y.dtype) make(zero, zero);
        if constexpr (!std::is_same_v<T, float>)
            if (weight.dtype == INFINI_DTYPE_F32) make(zero, float{});
    });
    return plan;
}

INFINI_KERNEL("layer_norm", plan_layer_norm);
INFINI_KERNEL("rms_norm", plan_rms_norm);

}  // namespace
}  // namespace infini::cpu::norm
