// causal_softmax: row i of [L, T] is a softmax over its first T - L + i + 1 columns, with zeros
// after them. It has its own kernel so that masked columns are neither read nor computed.
#include <algorithm>

#include "convert.h"
#include "functions.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

// Longer rows of types other than F32 are converted and exponentiated twice.
constexpr int64_t kBuffer = 16384;
constexpr size_t kStep = kWidth<float>;

float greatest(const float *x, size_t n, float so_far) {
    F32 m[4];
    for (F32 &v : m) v = broadcast<F32>(so_far);
    size_t i = 0;
    for (; i + 4 * kStep <= n; i += 4 * kStep)
        for (size_t k = 0; k < 4; ++k) m[k] = maximum(m[k], load(x + i + k * kStep));
    float result = reduce_max(maximum(maximum(m[0], m[1]), maximum(m[2], m[3])));
    for (; i < n; ++i) result = maximum(result, x[i]);
    return result;
}

// y = e^(x - shift); returns the sum. y may alias x.
float raise(float *y, const float *x, size_t n, float shift) {
    F32 total[2] = {};
    size_t i = 0;
    for (; i + 2 * kStep <= n; i += 2 * kStep)
        for (size_t k = 0; k < 2; ++k) {
            F32 e = exp(load(x + i + k * kStep) - shift);
            store(y + i + k * kStep, e);
            total[k] += e;
        }
    float result = reduce_add(total[0] + total[1]);
    for (; i < n; ++i) {
        y[i] = exp(x[i] - shift);
        result += y[i];
    }
    return result;
}

void scale(float *y, size_t n, float factor) {
    for (size_t i = 0; i < n; ++i) y[i] *= factor;
}

// One row: `n` of `columns` columns are kept. In place if y is x.
struct Row {
    int dtype;
    int64_t y_stride, x_stride, size;  // size: bytes per element

    void operator()(char *y, const char *x, int64_t n, int64_t columns) const {
        if (dtype == INFINI_DTYPE_F32 && y_stride == 1 && x_stride == 1)
            straight(reinterpret_cast<float *>(y), reinterpret_cast<const float *>(x), n);
        else
            converted(y, x, n);
        char *rest = y + n * y_stride * size;
        if (y_stride == 1)
            std::memset(rest, 0, size_t((columns - n) * size));
        else
            for (int64_t i = n; i < columns; ++i, rest += y_stride * size)
                std::memset(rest, 0, size_t(size));
    }

    void straight(float *y, const float *x, int64_t n) const {
        float shift = greatest(x, size_t(n), -INFINITY);
        scale(y, size_t(n), 1.0f / raise(y, x, size_t(n), shift));
    }

    void converted(char *y, const char *x, int64_t n) const {
        float buffer[kBuffer];
        float shift = -INFINITY, total = 0;
        auto blocks = [&](auto use) {
            for (int64_t i = 0; i < n; i += kBuffer) {
                size_t count = size_t(std::min(kBuffer, n - i));
                to_f32(buffer, x + i * x_stride * size, dtype, count, x_stride);
                use(i, count);
            }
        };
        auto give = [&](int64_t i, size_t count) {
            scale(buffer, count, 1.0f / total);
            from_f32(y + i * y_stride * size, dtype, buffer, count, y_stride);
        };
        if (n <= kBuffer) {
            blocks([&](int64_t i, size_t count) {
                shift = greatest(buffer, count, shift);
                total = raise(buffer, buffer, count, shift);
                give(i, count);
            });
            return;
        }
        blocks([&](int64_t, size_t count) { shift = greatest(buffer, count, shift); });
        blocks([&](int64_t, size_t count) { total += raise(buffer, buffer, count, shift); });
        blocks([&](int64_t i, size_t count) {
            raise(buffer, buffer, count, shift);
            give(i, count);
        });
    }
};

std::unique_ptr<Plan> plan_causal_softmax(const Operation &operation) {
    Shape y = operation.tensor(0), x = operation.tensor(1);
    const int outer = y.ndim - 1;
    const int64_t lines = y.size[outer - 1], columns = y.size[outer];
    int64_t rows = 1;
    for (int i = 0; i < outer; ++i) rows *= y.size[i];
    if (columns == 0) rows = 0;
    const int64_t size = y.dtype == INFINI_DTYPE_F32 ? 4 : 2;
    const Row row{y.dtype, y.stride[outer], x.stride[outer], size};
    const size_t grain = size_t(std::max<int64_t>(1, 16384 / std::max<int64_t>(columns, 1)));
    return make_plan([=](const Arguments &a) {
        char *to = a.pointer<char>(0);
        const char *from = a.pointer<char>(1);
        parallel_for(size_t(rows), grain, [&](size_t begin, size_t end) {
            for (size_t r = begin; r < end; ++r) {
                int64_t rest = int64_t(r), y_offset = 0, x_offset = 0;
                for (int d = outer - 1; d >= 0; --d) {
                    const int64_t index = rest % y.size[d];
                    rest /= y.size[d];
                    y_offset += index * y.stride[d];
                    x_offset += index * x.stride[d];
                }
                const int64_t kept = columns - lines + int64_t(r) % lines + 1;
                row(to + y_offset * size, from + x_offset * size, kept, columns);
            }
        });
    });
}

INFINI_KERNEL("causal_softmax", plan_causal_softmax);

}  // namespace
}  // namespace infini::cpu
