// cdist: the p-norms of the differences of each row of x1 and each row of x2. Rows are first
// converted to F32 and zero-padded to whole vectors (zeros do not change the sums); then two rows
// of x1 and four of x2 at a time are kept in registers, as in a matrix product.
#include <algorithm>

#include "convert.h"
#include "kernel.h"
#include "norms.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int kI = 2, kJ = 4;
constexpr int64_t kChunk = 256;  // columns of the result stored together

struct Operand {
    Shape shape;
    int64_t batches = 1, rows = 0, width = 0;

    Operand() = default;
    explicit Operand(const Tensor &tensor) : shape(tensor) {
        for (int i = 0; i < tensor.ndim - 2; ++i) batches *= tensor.size(i);
        rows = tensor.size(-2);
        width = tensor.size(-1);
    }
    // The operand's batch index for batch `index` of the result.
    int64_t batch(int64_t index, const Shape &y) const {
        int64_t found = 0, step = 1;
        for (int d = y.ndim - 3, mine = shape.ndim - 3; mine >= 0; --d, --mine) {
            if (shape.size[mine] != 1) found += index % y.size[d] * step;
            step *= shape.size[mine];
            index /= y.size[d];
        }
        return found;
    }
    int64_t offset(int64_t row) const {
        int64_t found = 0;
        for (int d = shape.ndim - 2; d >= 0; --d) {
            found += row % shape.size[d] * shape.stride[d];
            row /= shape.size[d];
        }
        return found;
    }
    // Converts all rows to F32, with a pitch of `padded`.
    void convert(float *to, const char *from, int64_t padded) const {
        const int64_t size = shape.dtype == INFINI_DTYPE_F32 ? 4 : 2;
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / padded));
        parallel_for(size_t(batches * rows), grain, [&](size_t begin, size_t end) {
            for (size_t r = begin; r < end; ++r) {
                float *row = to + int64_t(r) * padded;
                to_f32(row, from + offset(int64_t(r)) * size, shape.dtype, size_t(width),
                       shape.stride[shape.ndim - 1]);
                std::fill(row + width, row + padded, 0.0f);
            }
        });
    }
};

template <Norm norm>
void tile(const float *const (&a)[kI], const float *const (&b)[kJ], int64_t padded, float p,
          float (&result)[kI][kJ]) {
    F32 total[kI][kJ] = {};
    for (int64_t k = 0; k < padded; k += int64_t(kWidth<float>)) {
        F32 left[kI];
        for (int i = 0; i < kI; ++i) left[i] = load(a[i] + k);
        for (int j = 0; j < kJ; ++j) {
            const F32 right = load(b[j] + k);
            for (int i = 0; i < kI; ++i)
                total[i][j] = accumulate<norm>(total[i][j], left[i], right, p);
        }
    }
    for (int i = 0; i < kI; ++i)
        for (int j = 0; j < kJ; ++j) result[i][j] = join_lanes<norm>(total[i][j]);
}

struct Cdist {
    Shape y;
    Operand x1, x2;
    double p;
    int64_t batches = 1, padded = 0;

    // Processes rows `i` and `i + 1` of a batch.
    template <Norm norm>
    void pair(char *to, const float *a, const float *b, int64_t i) const {
        const int64_t rows = x1.rows, columns = x2.rows;
        const int count = int(std::min<int64_t>(kI, rows - i));
        const float *left[kI];
        for (int k = 0; k < kI; ++k) left[k] = a + (i + std::min(k, count - 1)) * padded;
        const int64_t size = y.dtype == INFINI_DTYPE_F32 ? 4 : 2;
        float out[kI][kChunk];
        for (int64_t from = 0; from < columns; from += kChunk) {
            const int64_t until = std::min(columns, from + kChunk);
            for (int64_t j = from; j < until; j += kJ) {
                const float *right[kJ];
                for (int k = 0; k < kJ; ++k) right[k] = b + std::min(j + k, columns - 1) * padded;
                float some[kI][kJ];
                tile<norm>(left, right, padded, float(p), some);
                for (int k = 0; k < kI; ++k)
                    for (int64_t c = j; c < std::min(until, j + kJ); ++c)
                        out[k][c - from] = finish(norm, some[k][c - j], float(p));
            }
            for (int k = 0; k < count; ++k)
                from_f32(to + ((i + k) * y.stride[y.ndim - 2] + from * y.stride[y.ndim - 1]) * size,
                         y.dtype, out[k], size_t(until - from), y.stride[y.ndim - 1]);
        }
    }

    template <Norm norm>
    void run(char *to, const float *a, const float *b) const {
        const int64_t pairs = (x1.rows + kI - 1) / kI;
        const int64_t size = y.dtype == INFINI_DTYPE_F32 ? 4 : 2;
        const int64_t cost = std::max<int64_t>(1, kI * x2.rows * (padded + 8));
        const size_t grain = size_t(std::max<int64_t>(1, 32768 / cost));
        parallel_for(size_t(batches * pairs), grain, [&](size_t begin, size_t end) {
            for (size_t unit = begin; unit < end; ++unit) {
                const int64_t batch = int64_t(unit) / pairs;
                int64_t rest = batch, offset = 0;
                for (int d = y.ndim - 3; d >= 0; --d) {
                    offset += rest % y.size[d] * y.stride[d];
                    rest /= y.size[d];
                }
                pair<norm>(to + offset * size, a + x1.batch(batch, y) * x1.rows * padded,
                           b + x2.batch(batch, y) * x2.rows * padded, int64_t(unit) % pairs * kI);
            }
        });
    }
};

std::unique_ptr<Plan> plan_cdist(const Operation &operation) {
    Cdist plan{operation.tensor(0), Operand(operation.tensor(1)), Operand(operation.tensor(2)),
               operation.number(0)};
    for (int i = 0; i < plan.y.ndim - 2; ++i) plan.batches *= plan.y.size[i];
    const int64_t width = int64_t(kWidth<float>);
    plan.padded = (plan.x1.width + width - 1) / width * width;
    const bool empty = plan.batches * plan.x1.rows * plan.x2.rows == 0;
    const int64_t first = plan.x1.batches * plan.x1.rows * plan.padded;
    const int64_t second = plan.x2.batches * plan.x2.rows * plan.padded;
    return make_plan(
        [=](const Arguments &a) {
            if (empty) return;
            float *left = reinterpret_cast<float *>(a.workspace()), *right = left + first;
            if (plan.padded) {
                plan.x1.convert(left, a.pointer<char>(1), plan.padded);
                plan.x2.convert(right, a.pointer<char>(2), plan.padded);
            }
            visit_norm(norm_of(plan.p),
                       [&](auto norm) { plan.run<norm()>(a.pointer<char>(0), left, right); });
        },
        size_t(first + second) * sizeof(float));
}

INFINI_KERNEL("cdist", plan_cdist);

}  // namespace
}  // namespace infini::cpu
