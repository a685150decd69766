// softmax and log_softmax along the last dimension: a row passes through L1 once for its maximum,
// once for its exponentials, and once for its results.
#include "norm/rows.h"

namespace infini::cpu::norm {
namespace {

constexpr int64_t kBuffer = 8192;  // exponentials of a row of 16-bit elements

// y = e^x / sum(e^x); y may alias x. `power` is y, or a buffer.
template <class T>
INFINI_SIMD void softmax_row(T *y, const T *x, float *power, size_t n) {
    const float shift = greatest(x, n);
    const size_t whole = n / kStep * kStep;
    const F32 end = whole < n ? exp(load_end(x, n) - shift) : F32{};
    F32 sum[2] = {};
    size_t i = 0;
    for (; i + 2 * kStep <= n; i += 2 * kStep) {
        const TwoF32 v = load_two(x + i);
        const F32 first = exp(v.first - shift), second = exp(v.second - shift);
        store(power + i, first);
        store(power + i + kStep, second);
        sum[0] += first, sum[1] += second;
    }
    if (i < whole) {
        const F32 e = exp(load_f32(x + i) - shift);
        store(power + i, e);
        sum[0] += e;
    }
    if (whole < n) sum[1] += only_rest(end, n);
    const float factor = 1.0f / reduce_add(sum[0] + sum[1]);
    for (i = 0; i + 2 * kStep <= n; i += 2 * kStep)
        store_two(y + i, load(power + i) * factor, load(power + i + kStep) * factor);
    if (i < whole) store_f32(y + i, load(power + i) * factor);
    if (whole < n) store_end(y, end * factor, n);
}

// Rows in groups: the logarithms of a vector of sums take as long as a single one.
template <class T>
struct LogSoftmax {
    explicit LogSoftmax(size_t length) : n(length) {}
    void add(T *y, const T *x) {
        const float most = greatest(x, n);
        to[held] = y, from[held] = x, shift[held] = most;
        sum[held] = sum_of(x, n, [most](F32 v) { return exp(v - most); });
        if (++held == kStep) write();
    }
    void write() {
        store(sum, log(load(sum)));
        for (size_t r = 0; r < held; ++r) {
            const float high = shift[r], low = sum[r];
            map_row(to[r], from[r], n, [=](F32 v, auto) { return v - high - low; });
        }
        held = 0;
    }

    size_t n, held = 0;
    T *to[kStep];
    const T *from[kStep];
    float shift[kStep], sum[kStep] = {};
};

std::unique_ptr<Plan> plan_softmax(const Operation &operation) {
    const Tensor y = operation.tensor(0);
    const int64_t axis = operation.integer(0);
    RowPairs pairs;
    if (axis != -1 && axis != y.ndim - 1) return nullptr;
    if (!pairs.init(y, operation.tensor(1)) || is_narrow(pairs)) return nullptr;
    const bool logarithm = operation.is("log_softmax");
    if (!logarithm && y.dtype != INFINI_DTYPE_F32 && pairs.length > kBuffer) return nullptr;
    std::unique_ptr<Plan> plan;
    with_float(y.dtype, [&]<class T>(T) {
        plan = make_plan([=](const Arguments &a) {
            T *to = a.pointer<T>(0);
            const T *from = a.pointer<T>(1);
            const size_t n = size_t(pairs.length);
            parallel_for(size_t(pairs.rows), grain_of(pairs.length, 25), [&](size_t b, size_t e) {
                if (logarithm) {
                    LogSoftmax<T> rows(n);
                    pairs.each(to, from, b, e, [&](T *y, const T *x) { rows.add(y, x); });
                    return rows.write();
                }
                if constexpr (std::is_same_v<T, float>) {
                    pairs.each(to, from, b, e, [n](T *y, const T *x) { softmax_row(y, x, y, n); });
                } else {
                    float buffer[kBuffer];
                    pairs.each(to, from, b, e,
                               [&](T *y, const T *x) { softmax_row(y, x, buffer, n); });
                }
            });
        });
    });
    return plan;
}

INFINI_KERNEL("softmax", plan_softmax);
INFINI_KERNEL("log_softmax", plan_softmax);

}  // namespace
}  // namespace infini::cpu::norm
