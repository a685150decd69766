// dist: the p-norm of all differences of two tensors.
#include <algorithm>

#include "convert.h"
#include "kernel.h"
#include "norms.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 1024;  // elements converted at a time
constexpr int64_t kParts = 64;    // partial results, joined in order, for any number of threads

template <Norm norm, class C>
C of_piece(const C *a, const C *b, size_t n, C p) {
    using V = Vec<C>;
    V total[2] = {};
    size_t i = 0;
    for (; i + 2 * kWidth<C> <= n; i += 2 * kWidth<C>)
        for (size_t k = 0; k < 2; ++k) {
            const size_t at = i + k * kWidth<C>;
            total[k] = accumulate<norm>(total[k], load(a + at), load(b + at), p);
        }
    C result = join(norm, join_lanes<norm>(total[0]), join_lanes<norm>(total[1]));
    for (; i < n; ++i) result = accumulate<norm>(result, a[i], b[i], p);
    return result;
}

// Both tensors as equally spaced rows; without gaps they are one row.
struct Rows {
    Shape a, b;
    int outer = 0;  // dimensions that enumerate the rows
    int64_t rows = 1, length = 1, pieces = 1;

    Rows(const Tensor &first, const Tensor &second) : a(first), b(second) {
        if (first.contiguous() && second.contiguous()) {
            a.ndim = b.ndim = 1;
            a.size[0] = b.size[0] = first.numel();
            a.stride[0] = b.stride[0] = 1;
        }
        outer = std::max(a.ndim - 1, 0);
        for (int i = 0; i < outer; ++i) rows *= a.size[i];
        length = a.ndim ? a.size[outer] : 1;
        pieces = (length + kPiece - 1) / kPiece;
    }

    int64_t units() const { return rows * pieces; }

    template <Norm norm, class C>
    C unit(int64_t number, const char *from_a, const char *from_b, int64_t size, C p) const {
        const int64_t begin = number % pieces * kPiece;
        int64_t rest = number / pieces;
        const int64_t step_a = a.ndim ? a.stride[outer] : 1, step_b = b.ndim ? b.stride[outer] : 1;
        int64_t offset_a = begin * step_a, offset_b = begin * step_b;
        for (int d = outer - 1; d >= 0; --d) {
            const int64_t index = rest % a.size[d];
            rest /= a.size[d];
            offset_a += index * a.stride[d];
            offset_b += index * b.stride[d];
        }
        const size_t n = size_t(std::min(kPiece, length - begin));
        C left[kPiece], right[kPiece];
        load_dtype(left, from_a + offset_a * size, a.dtype, n, step_a);
        load_dtype(right, from_b + offset_b * size, b.dtype, n, step_b);
        return of_piece<norm>(left, right, n, p);
    }
};

template <Norm norm, class C>
double run(const Rows &rows, const char *a, const char *b, double p, double *partial) {
    const int64_t units = rows.units(), parts = std::min(units, kParts);
    const int64_t size = rows.a.dtype == INFINI_DTYPE_F64   ? 8
                         : rows.a.dtype == INFINI_DTYPE_F32 ? 4
                                                            : 2;
    const size_t grain =
        size_t(std::max<int64_t>(1, 16384 * parts / std::max<int64_t>(units * kPiece, 1)));
    parallel_for(size_t(parts), grain, [&](size_t begin, size_t end) {
        for (size_t part = begin; part < end; ++part) {
            double total = 0;
            const int64_t first = units * int64_t(part) / parts;
            const int64_t last = units * int64_t(part + 1) / parts;
            for (int64_t u = first; u < last; ++u)
                total = join(norm, total, double(rows.unit<norm, C>(u, a, b, size, C(p))));
            partial[part] = total;
        }
    });
    double total = 0;
    for (int64_t part = 0; part < parts; ++part) total = join(norm, total, partial[part]);
    return finish(norm, total, p);
}

std::unique_ptr<Plan> plan_dist(const Operation &operation) {
    const Rows rows(operation.tensor(1), operation.tensor(2));
    const double p = operation.number(0);
    const int dtype = rows.a.dtype;
    return make_plan([=](const Arguments &a) {
        double result = 0, partial[kParts];
        visit_norm(norm_of(p), [&](auto norm) {
            const char *x1 = a.pointer<char>(1), *x2 = a.pointer<char>(2);
            result = dtype == INFINI_DTYPE_F64 ? run<norm(), double>(rows, x1, x2, p, partial)
                                               : run<norm(), float>(rows, x1, x2, p, partial);
        });
        store_as(dtype, a.pointer<void>(0), 0, result);
    });
}

INFINI_KERNEL("dist", plan_dist);

}  // namespace
}  // namespace infini::cpu
