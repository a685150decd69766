// cdist: the p-norms of the differences of each row of x1 and each row of x2. Rows are first
// converted to F32 and zero-padded to whole vectors (zeros do not change the sums); then two rows
// of x1 and four of x2 at a time are kept in registers, as in a matrix product. Rows much shorter
// than a vector would mostly be padding: then x2 is transposed, and a vector has one element of
// several rows.
#include <algorithm>

#include "convert.h"
#include "kernel.h"
#include "norms.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int kI = 2, kJ = 4;
constexpr int64_t kChunk = 256;  // columns of the result stored together
constexpr int64_t kLanes = int64_t(kWidth<float>);
constexpr int64_t kNarrow = kLanes / 2;  // the most elements of a short row

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
    // Converts each batch to columns with that pitch.
    void convert_columns(float *to, const char *from, int64_t pitch) const {
        constexpr int64_t kPart = 8192;
        const int64_t size = shape.dtype == INFINI_DTYPE_F32 ? 4 : 2;
        const int64_t parts = (rows + kPart - 1) / kPart;
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / std::min(kPart, rows)));
        parallel_for(size_t(batches * width * parts), grain, [&](size_t begin, size_t end) {
            for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                const int64_t first = i % parts * kPart, column = i / parts;
                const int64_t at = offset(column / width * rows + first) +
                                   column % width * shape.stride[shape.ndim - 1];
                to_f32(to + column * pitch + first, from + at * size, shape.dtype,
                       size_t(std::min(kPart, rows - first)), shape.stride[shape.ndim - 2]);
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
    bool narrow = false;
    int64_t pitch = 0;  // narrow: of the columns of x2

    // Processes row `i` of a batch.
    template <Norm norm>
    void narrow_row(char *to, const float *a, const float *b, int64_t i, int64_t first,
                    int64_t last) const {
        const int64_t size = y.dtype == INFINI_DTYPE_F32 ? 4 : 2;
        const float *row = a + i * padded;
        float out[kChunk];
        for (int64_t from = first; from < last; from += kChunk) {
            const int64_t n = std::min(last - from, kChunk);
            for (int64_t j = 0; j < n; j += kLanes) {
                F32 total{};
                for (int64_t k = 0; k < x1.width; ++k)
                    total = accumulate<norm>(total, broadcast<F32>(row[k]),
                                             load(b + k * pitch + from + j), float(p));
                if constexpr (norm == Norm::two) total = sqrt(total);
                if constexpr (norm == Norm::power)
                    total = power(total, broadcast<F32>(float(1 / p)));
                store(out + j, total);
            }
            from_f32(to + (i * y.stride[y.ndim - 2] + from * y.stride[y.ndim - 1]) * size, y.dtype,
                     out, size_t(n), y.stride[y.ndim - 1]);
        }
    }

    // Processes rows `i` and `i + 1` of a batch, with rows [first, last) of x2.
    template <Norm norm>
    void pair(char *to, const float *a, const float *b, int64_t i, int64_t first,
              int64_t last) const {
        const int64_t rows = x1.rows, columns = x2.rows;
        if (narrow) {
            for (int64_t k = i; k < std::min(i + kI, rows); ++k)
                narrow_row<norm>(to, a, b, k, first, last);
            return;
        }
        const int count = int(std::min<int64_t>(kI, rows - i));
        const float *left[kI];
        for (int k = 0; k < kI; ++k) left[k] = a + (i + std::min(k, count - 1)) * padded;
        const int64_t size = y.dtype == INFINI_DTYPE_F32 ? 4 : 2;
        float out[kI][kChunk];
        for (int64_t from = first; from < last; from += kChunk) {
            const int64_t until = std::min(last, from + kChunk);
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
        const int64_t each = narrow ? x1.width : padded + 8;
        // Few rows of x1 are divided along x2.
        const int64_t wanted = 4 * int64_t(thread_count()) / std::max<int64_t>(1, batches * pairs);
        const int64_t chunks = (x2.rows + kChunk - 1) / kChunk;
        const int64_t parts = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, chunks));
        const int64_t cost = std::max<int64_t>(1, kI * x2.rows * each / parts);
        const int64_t b_size = narrow ? pitch * x2.width : x2.rows * padded;
        const size_t grain = size_t(std::max<int64_t>(1, 32768 / cost));
        parallel_for(size_t(batches * pairs * parts), grain, [&](size_t begin, size_t end) {
            for (size_t task = begin; task < end; ++task) {
                const int64_t unit = int64_t(task) / parts, part = int64_t(task) % parts;
                const int64_t batch = unit / pairs;
                int64_t rest = batch, offset = 0;
                for (int d = y.ndim - 3; d >= 0; --d) {
                    offset += rest % y.size[d] * y.stride[d];
                    rest /= y.size[d];
                }
                pair<norm>(to + offset * size, a + x1.batch(batch, y) * x1.rows * padded,
                           b + x2.batch(batch, y) * b_size, unit % pairs * kI,
                           chunks * part / parts * kChunk,
                           std::min(x2.rows, chunks * (part + 1) / parts * kChunk));
            }
        });
    }
};

std::unique_ptr<Plan> plan_cdist(const Operation &operation) {
    Cdist plan{operation.tensor(0), Operand(operation.tensor(1)), Operand(operation.tensor(2)),
               operation.number(0)};
    for (int i = 0; i < plan.y.ndim - 2; ++i) plan.batches *= plan.y.size[i];
    plan.padded = (plan.x1.width + kLanes - 1) / kLanes * kLanes;
    plan.narrow = plan.x1.width <= kNarrow;
    plan.pitch = (plan.x2.rows + kLanes - 1) / kLanes * kLanes;
    const bool empty = plan.batches * plan.x1.rows * plan.x2.rows == 0;
    const int64_t first = plan.x1.batches * plan.x1.rows * plan.padded;
    const int64_t second =
        plan.x2.batches * (plan.narrow ? plan.pitch * plan.x2.width : plan.x2.rows * plan.padded);
    return make_plan(
        [=](const Arguments &a) {
            if (empty) return;
            float *left = reinterpret_cast<float *>(a.workspace()), *right = left + first;
            if (plan.padded) {
                plan.x1.convert(left, a.pointer<char>(1), plan.padded);
                if (plan.narrow)
                    plan.x2.convert_columns(right, a.pointer<char>(2), plan.pitch);
                else
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
