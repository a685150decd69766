// qr: the factors of a matrix by Householder reflections.
#include "linalg/qr.h"

#include "linalg/lapack_blocks.h"
#include "linalg/thin_qr.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_qr(const Operation &operation) {
    const Matrices q(operation.tensor(0), 2), r(operation.tensor(1), 2), x(operation.tensor(2), 2);
    const int64_t rows = x.rows, columns = x.columns, count = std::min(rows, columns);
    const int64_t lwork = kLapackBlock * columns;
    const bool parallel = has_blocks(x);
    const Matrices q_columns = q.transposed(), x_columns = x.transposed();
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *matrix = reinterpret_cast<T *>(room), *made = matrix + x.size();
            T *tau = made + std::max(r.size(), q.size()), *work = tau + count;
            const int m = int(rows), n = int(columns), k = int(count);
            const LapackBlocks<T> blocks = {lapack, parallel};
            x_columns.load(matrix, a.pointer<void>(2), index);
            if (!is_finite(matrix, x.size())) return false;
            blocks.factor_qr(matrix, m, n, tau, work);
            for (int64_t i = 0; i < count; ++i)
                for (int64_t j = 0; j < columns; ++j)
                    made[i * columns + j] = j < i ? 0 : matrix[j * rows + i];
            r.store(a.pointer<void>(1), index, made);
            blocks.make_q(made, m, k, matrix, k, tau);
            q_columns.store(a.pointer<void>(0), index, made);
            return true;
        });
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        double *made = room + x.size(), *tau = made + rows * count;
        double *line = tau + count;
        x.load(room, a.pointer<void>(2), index);
        factor_qr(room, rows, columns, tau, line);
        make_q(made, rows, count, room, columns, tau, line);
        q.store(a.pointer<void>(0), index, made);
        for (int64_t i = 0; i < count; ++i)
            std::fill(room + i * columns, room + i * columns + i, 0.0);
        r.store(a.pointer<void>(1), index, room);
    };
    if (is_thin(rows, columns)) {
        auto thin = [=](const Arguments &a, int64_t index, double *room) {
            const bool done = in_type_of(x, [&]<class T>(T) {
                ThinQr<T> qr(room, rows, columns);
                if (!qr.factor(x_columns, a.pointer<void>(2), index)) return false;
                qr.store_q(q_columns, nullptr, a.pointer<void>(0), index);
                qr.copy_r(room);
                r.store(a.pointer<void>(1), index, room);
                return true;
            });
            if (!done) body(a, index, room);
        };
        const int64_t doubles = x.size() + rows * count + columns + 2 * count;
        return plan_batch(x.count(), std::max(doubles, thin_doubles(x, columns)),
                          x.size() * (columns + 8) / 4, thin);
    }
    return plan_with_lapack(x, kLapackQr, x.size() + std::max(r.size(), q.size()) + count + lwork,
                            by_lapack, x.size() + rows * count + columns + 2 * count,
                            x.size() * (2 * count + 8), body);
}

INFINI_KERNEL("qr", plan_qr);

}  // namespace
}  // namespace infini::cpu
