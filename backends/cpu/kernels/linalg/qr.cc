// qr: the factors of a matrix by Householder reflections.
#include "linalg/qr.h"

#include "linalg/lapack.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_qr(const Operation &operation) {
    const Matrices q(operation.tensor(0), 2), r(operation.tensor(1), 2), x(operation.tensor(2), 2);
    const int64_t rows = x.rows, columns = x.columns, count = std::min(rows, columns);
    const int64_t lwork = kLapackBlock * columns;
    const Matrices q_columns = q.transposed(), x_columns = x.transposed();
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *matrix = reinterpret_cast<T *>(room), *made = matrix + x.size();
            T *tau = made + r.size(), *work = tau + count;
            const int m = int(rows), n = int(columns), k = int(count), size = int(lwork);
            int info = 0;
            x_columns.load(matrix, a.pointer<void>(2), index);
            if (!is_finite(matrix, x.size())) return false;
            typed<T>(lapack.sgeqrf, lapack.dgeqrf)(&m, &n, matrix, &m, tau, work, &size, &info);
            if (info != 0) return false;
            for (int64_t i = 0; i < count; ++i)
                for (int64_t j = 0; j < columns; ++j)
                    made[i * columns + j] = j < i ? 0 : matrix[j * rows + i];
            typed<T>(lapack.sorgqr, lapack.dorgqr)(&m, &k, &k, matrix, &m, tau, work, &size, &info);
            if (info != 0) return false;
            q_columns.store(a.pointer<void>(0), index, matrix);
            r.store(a.pointer<void>(1), index, made);
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
    return plan_with_lapack(x, kLapackQr, x.size() + r.size() + count + lwork, by_lapack,
                            x.size() + rows * count + columns + 2 * count,
                            x.size() * (2 * count + 8), body);
}

INFINI_KERNEL("qr", plan_qr);

}  // namespace
}  // namespace infini::cpu
