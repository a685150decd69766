// int8 quantisation: per_channel_quant_int8 and per_tensor_quant_int8.
//
// A code is x / scale rounded to the nearest integer, ties away from zero. Multiplying by 1 / scale
// is much faster and differs only by a few units in the last place, so a division is needed only
// for values that are that close to a tie.
#include <cmath>

#include "convert.h"
#include "floats.h"
#include "quant/rows.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kLanesF32 = kWidth<float>;
using Bytes = VectorOf<int8_t, kWidth<float>>::type;

struct Scale {
    float scale, inverse, zero, low;  // codes are in [low, 127]
    bool divide;                      // the inverse is not a normal number

    Scale(float scale, float zero, float low)
        : scale(scale), inverse(1.0f / scale), zero(zero), low(low) {
        divide = !std::isnormal(inverse) || !std::isnormal(scale);
    }
};

template <class V>
INFINI_SIMD V clamped(V q, const Scale &s) {
    q = select(q < s.low, broadcast<V>(s.low), q);
    q = select(q > 127.0f, broadcast<V>(127.0f), q);
    return select(q == q, q, V{});
}
// Rounds to nearest, ties away from zero; |q| is small.
template <class V>
INFINI_SIMD Like<V, int32_t> nearest(V q) {
    using I = Like<V, int32_t>;
    const V whole = cast<V>(cast<I>(q)), rest = q - whole;
    return cast<I>(whole + select(rest >= 0.5f, broadcast<V>(1.0f),
                                  select(rest <= -0.5f, broadcast<V>(-1.0f), V{})));
}
template <class V>
INFINI_SIMD Like<V, int32_t> divided(V x, const Scale &s) {
    return nearest(clamped<V>(x / s.scale + s.zero, s));
}

template <class T>
INFINI_SIMD Bytes code_vector(const T *x, const Scale &s) {
    const F32 v = load_f32(x), product = v * s.inverse;
    const F32 q = clamped<F32>(product + s.zero, s);
    F32 rest = q - cast<F32>(cast<I32>(q));
    rest = select(rest < 0.0f, -rest, rest);
    const F32 from_tie = rest - 0.5f, size = select(product < 0.0f, -product, product);
    const F32 near = select(from_tie < 0.0f, -from_tie, from_tie) - size * 5e-7f;
    if (s.divide || any(near < 2e-5f)) return __builtin_convertvector(divided(v, s), Bytes);
    return __builtin_convertvector(nearest(q), Bytes);
}

template <class T>
void codes(int8_t *out, const T *x, int64_t n, const Scale &s) {
    int64_t i = 0;
    for (; i + kLanesF32 <= n; i += kLanesF32) store(out + i, code_vector(x + i, s));
    for (; i < n; ++i) out[i] = int8_t(divided(load_element<float>(x[i]), s));
}

template <class T>
void strided_codes(int8_t *out, int64_t out_step, const T *x, int64_t step, int64_t n,
                   const Scale &s) {
    if (out_step == 1 && step == 1) return codes(out, x, n, s);
    for (int64_t i = 0; i < n; ++i)
        out[i * out_step] = int8_t(divided(load_element<float>(x[i * step]), s));
}

struct Range {
    float low, high;
};

// The smallest and the greatest element of a non-empty row.
template <class T>
Range range_of(const T *x, int64_t n) {
    F32 low[2], high[2];
    const float first = load_element<float>(x[0]);
    for (int part = 0; part < 2; ++part) low[part] = high[part] = broadcast<F32>(first);
    int64_t i = 0;
    for (; i + 2 * kLanesF32 <= n; i += 2 * kLanesF32) {
        for (int part = 0; part < 2; ++part) {
            const F32 v = load_f32(x + i + part * kLanesF32);
            low[part] = minimum(low[part], v), high[part] = maximum(high[part], v);
        }
    }
    Range range = {reduce_min(minimum(low[0], low[1])), reduce_max(maximum(high[0], high[1]))};
    for (; i < n; ++i) {
        const float v = load_element<float>(x[i]);
        range.low = minimum(range.low, v), range.high = maximum(range.high, v);
    }
    return range;
}
float greatest(Range range) { return maximum(-range.low, range.high); }

template <class T>
float strided_greatest(const T *x, int64_t step, int64_t n) {
    if (n == 0) return 0.0f;
    if (step == 1) return greatest(range_of(x, n));
    float most = 0.0f;
    for (int64_t i = 0; i < n; ++i)
        most = maximum(most, std::fabs(load_element<float>(x[i * step])));
    return most;
}

std::unique_ptr<Plan> plan_per_channel(const Operation &op) {
    const int64_t rows = op.tensor(3).size(0), columns = op.tensor(3).size(1);
    const bool symmetric = !op.tensor(2);
    return visit_single(op.tensor(3).dtype, [=]<class T>(Type<T>) {
        return make_plan([=](const Arguments &arguments) {
            int8_t *out = arguments.pointer<int8_t>(0);
            float *scales = arguments.pointer<float>(1), *zeros = arguments.pointer<float>(2);
            const T *x = arguments.pointer<const T>(3);
            const size_t grain = size_t(1 + 16384 / (columns + 1));
            parallel_for(size_t(rows), grain, [&](size_t begin, size_t end) {
                for (size_t row = begin; row < end; ++row) {
                    const T *from = x + int64_t(row) * columns;
                    const Range range = columns ? range_of(from, columns) : Range{0, 0};
                    const float span =
                        symmetric ? greatest(range) / 127.0f : (range.high - range.low) / 255.0f;
                    const float scale = maximum(span, 1e-8f);
                    const float zero = symmetric ? 0.0f : -range.low / scale - 128.0f;
                    scales[row] = scale;
                    if (!symmetric) zeros[row] = zero;
                    codes(out + int64_t(row) * columns, from, columns,
                          Scale(scale, zero, symmetric ? -127.0f : -128.0f));
                }
            });
        });
    });
}

// Two tensors divided into chunks of rows for threads.
struct Pieces {
    static constexpr int64_t kLength = 8192;
    Rows<2> rows;
    int64_t step[2], length, across, count;

    explicit Pieces(const Tensor (&tensors)[2]) : rows(tensors, tensors[0].ndim) {
        length = rows.take_inner(step);
        across = (length + kLength - 1) / kLength;
        count = rows.count * across;
    }
    // body(piece, offset, offset, length)
    template <class Body>
    void each(size_t begin, size_t end, const Body &body) const {
        for (size_t item = begin; item < end; ++item) {
            int64_t offset[2];
            rows.at(int64_t(item) / across, offset);
            const int64_t from = int64_t(item) % across * kLength;
            const int64_t n = length - from < kLength ? length - from : kLength;
            body(offset[0] + from * step[0], offset[1] + from * step[1], n);
        }
    }
    size_t grain() const {
        return size_t(1 + 16384 / ((length < kLength ? length : kLength) + 16));
    }
};

std::unique_ptr<Plan> plan_per_tensor(const Operation &op) {
    if (op.tensor(2))
        throw Refusal{INFINI_STATUS_BAD_PARAM, "x_zero must be absent: codes have no zero point"};
    const Tensor tensors[2] = {op.tensor(0), op.tensor(3)};
    const Pieces pieces(tensors);
    constexpr size_t kParts = 64;  // chunks in the search for the greatest
    return visit_single(op.tensor(3).dtype, [=]<class T>(Type<T>) {
        auto run = [=](const Arguments &arguments) {
            int8_t *out = arguments.pointer<int8_t>(0);
            float *scale = arguments.pointer<float>(1);
            const T *x = arguments.pointer<const T>(3);
            const bool is_static = arguments.integer(0) != 0;
            const size_t count = size_t(pieces.count), grain = pieces.grain();
            if (!is_static) {
                float *most = reinterpret_cast<float *>(arguments.workspace());
                const size_t parts = count / grain < kParts ? count / grain + 1 : kParts;
                parallel_for(parts, 1, [&](size_t begin, size_t end) {
                    for (size_t part = begin; part < end; ++part) {
                        float found = 0.0f;
                        pieces.each(count * part / parts, count * (part + 1) / parts,
                                    [&](int64_t, int64_t at, int64_t n) {
                                        found = maximum(
                                            found, strided_greatest(x + at, pieces.step[1], n));
                                    });
                        most[part] = found;
                    }
                });
                float found = 0.0f;
                for (size_t part = 0; part < parts; ++part) found = maximum(found, most[part]);
                *scale = maximum(*scale, found / 127.0f);
            }
            if (*scale == 0.0f) {
                pieces.each(0, count, [&](int64_t at, int64_t, int64_t n) {
                    for (int64_t i = 0; i < n; ++i) out[at + i * pieces.step[0]] = 0;
                });
                return;
            }
            const Scale by(*scale, 0.0f, -127.0f);
            parallel_for(count, grain, [&](size_t begin, size_t end) {
                pieces.each(begin, end, [&](int64_t to, int64_t at, int64_t n) {
                    strided_codes(out + to, pieces.step[0], x + at, pieces.step[1], n, by);
                });
            });
        };
        return make_plan(run, kParts * sizeof(float));
    });
}

std::unique_ptr<Plan> plan_quant(const Operation &operation) {
    return operation.is("per_channel_quant_int8") ? plan_per_channel(operation)
                                                  : plan_per_tensor(operation);
}

INFINI_KERNEL("quant_int8", plan_quant);

}  // namespace
}  // namespace infini::cpu
