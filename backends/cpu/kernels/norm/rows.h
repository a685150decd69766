// Rows of normalisations: their addresses, and loops over their vectors. A row of any length
// consists of whole vectors and a last one, which overlaps the previous one: there are no scalar
// tails.
#pragma once

#include <algorithm>

#include "convert.h"
#include "functions.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu::norm {

constexpr size_t kStep = kWidth<float>;
// Longer rows, and few long ones, run as programs: they sum in trees and split rows.
constexpr int64_t kLongest = 65536, kLong = 16384, kFew = 64;

// The rows of two tensors of one shape, along their last dimension.
class RowPairs {
public:
    // False if rows are not contiguous, or if a program is faster.
    bool init(const Tensor &to, const Tensor &from) {
        const int last = to.ndim - 1;
        if (last < 0 || to.dtype != from.dtype || to.numel() == 0) return false;
        length = to.shape[last];
        if (length > 1 && (to.strides[last] != 1 || from.strides[last] != 1)) return false;
        for (int d = 0; d < last; ++d) {
            if (to.shape[d] == 1) continue;
            const bool joins = count_ && to_[count_ - 1] == to.shape[d] * to.strides[d] &&
                               from_[count_ - 1] == to.shape[d] * from.strides[d];
            if (!joins) size_[count_++] = 1;
            size_[count_ - 1] *= to.shape[d];
            to_[count_ - 1] = to.strides[d], from_[count_ - 1] = from.strides[d];
            rows *= to.shape[d];
        }
        return length <= kLongest && (length < kLong || rows >= kFew);
    }

    // Calls f(target, source) for rows [begin, end).
    template <class T, class F>
    void each(T *to, const T *from, size_t begin, size_t end, const F &f) const {
        for (size_t row = begin; row < end; ++row) {
            int64_t rest = int64_t(row), a = 0, b = 0;
            for (int d = count_ - 1; d > 0; --d) {
                const int64_t index = rest % size_[d];
                rest /= size_[d];
                a += index * to_[d], b += index * from_[d];
            }
            if (count_) a += rest * to_[0], b += rest * from_[0];
            f(to + a, from + b);
        }
    }

    int64_t rows = 1, length = 0;

private:
    int count_ = 0;
    int64_t size_[Shape::kMost], to_[Shape::kMost], from_[Shape::kMost];
};

// Many very short rows: programs process a vector of rows at a time.
inline bool is_narrow(const RowPairs &pairs) {
    return pairs.length < std::min<int64_t>(8, int64_t(kStep)) && pairs.rows >= 256;
}

// ---- Row tails ----------------------------------------------------------------------------------

// The last vector of a row; a row shorter than a vector is padded with zeros.
template <class T>
INFINI_SIMD F32 load_end(const T *x, size_t n) {
    return n >= kStep ? load_f32(x + n - kStep) : load_f32(x, n);
}
template <class T>
INFINI_SIMD void store_end(T *y, F32 v, size_t n) {
    if (n >= kStep)
        store_f32(y + n - kStep, v);
    else
        store_f32(y, v, n);
}
// Keeps the elements of the last vector that no whole vector contained.
INFINI_SIMD F32 only_rest(F32 v, size_t n) {
    const I32 lane = iota<I32>(), rest = broadcast<I32>(int32_t(n % kStep));
    const I32 counts = n >= kStep ? I32(lane + rest >= int32_t(kStep)) : I32(lane < rest);
    return select(counts, v, F32{});
}

// ---- Folds --------------------------------------------------------------------------------------

// The sum of f(x), in several independent chains.
template <class T, class F>
INFINI_SIMD float sum_of(const T *x, size_t n, const F &f) {
    F32 sum[4] = {};
    size_t i = 0;
    for (; i + 4 * kStep <= n; i += 4 * kStep) {
        const TwoF32 a = load_two(x + i), b = load_two(x + i + 2 * kStep);
        sum[0] += f(a.first), sum[1] += f(a.second);
        sum[2] += f(b.first), sum[3] += f(b.second);
    }
    for (; i + kStep <= n; i += kStep) sum[0] += f(load_f32(x + i));
    if (i < n) sum[1] += only_rest(f(load_end(x, n)), n);
    return reduce_add((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

template <class T>
INFINI_SIMD float greatest(const T *x, size_t n) {
    float single = -INFINITY;
    if (n < kStep) {
        for (size_t i = 0; i < n; ++i) single = maximum(single, load_element<float>(x[i]));
        return single;
    }
    F32 most[4];
    for (F32 &each : most) each = load_end(x, n);
    size_t i = 0;
    for (; i + 4 * kStep <= n; i += 4 * kStep) {
        const TwoF32 a = load_two(x + i), b = load_two(x + i + 2 * kStep);
        most[0] = maximum(most[0], a.first), most[1] = maximum(most[1], a.second);
        most[2] = maximum(most[2], b.first), most[3] = maximum(most[3], b.second);
    }
    for (; i + kStep <= n; i += kStep) most[0] = maximum(most[0], load_f32(x + i));
    return reduce_max(maximum(maximum(most[0], most[1]), maximum(most[2], most[3])));
}

// ---- Maps ---------------------------------------------------------------------------------------

// y = f(x, load), where y may alias x, and load(w) gives the same elements of another row.
template <class T, class F>
INFINI_SIMD void map_row(T *y, const T *x, size_t n, const F &f) {
    const size_t whole = n / kStep * kStep;
    F32 end{};
    if (whole < n) end = f(load_end(x, n), [n](const auto *w) { return load_end(w, n); });
    size_t i = 0;
    for (; i + 2 * kStep <= n; i += 2 * kStep) {
        const TwoF32 v = load_two(x + i);
        const F32 first = f(v.first, [i](const auto *w) { return load_f32(w + i); });
        const F32 second = f(v.second, [i](const auto *w) { return load_f32(w + i + kStep); });
        store_two(y + i, first, second);
    }
    if (i < whole)
        store_f32(y + i, f(load_f32(x + i), [i](const auto *w) { return load_f32(w + i); }));
    if (whole < n) store_end(y, end, n);
}

// ---- By dtype -----------------------------------------------------------------------------------

// Calls f with a 32-bit or 16-bit type; returns false for others.
template <class F>
bool with_float(int dtype, F &&f) {
    switch (dtype) {
        case INFINI_DTYPE_F32:
            return f(float{}), true;
        case INFINI_DTYPE_F16:
            return f(f16{}), true;
        case INFINI_DTYPE_BF16:
            return f(bf16{}), true;
        default:
            return false;
    }
}

// The number of rows that justify a thread, given the cost per element in tenths of a nanosecond.
inline size_t grain_of(int64_t length, int64_t cost) {
    return size_t(std::max<int64_t>(1, 100000 / (cost * std::max<int64_t>(length, 8))));
}

}  // namespace infini::cpu::norm
