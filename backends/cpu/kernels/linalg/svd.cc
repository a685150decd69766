// svd: singular values and vectors of real matrices.
#include "linalg/lapack.h"
#include "linalg/svd_jacobi.h"

namespace infini::cpu {
namespace {

// Results stored in F32 do not need double accuracy.
double tolerance_of(const Matrices &x) {
    if (x.dtype == INFINI_DTYPE_F32) return 1e-10;
    return std::numeric_limits<double>::epsilon() * std::sqrt(double(x.rows));
}

int64_t work_of(const Matrices &x) {
    return (x.size() + 16 * x.columns * x.columns) * (x.columns + 8);
}

std::unique_ptr<Plan> plan_svd(const Operation &operation) {
    const Matrices s(operation.tensor(1), 1);
    Matrices u(operation.tensor(0), 2), vh(operation.tensor(2), 2), x(operation.tensor(3), 2);
    // A wide matrix is transposed, which swaps U and V.
    const bool wide = x.rows < x.columns;
    const int u_at = wide ? 2 : 0, vh_at = wide ? 0 : 2;
    if (wide) {
        std::swap(u, vh);
        x = x.transposed(), u = u.transposed(), vh = vh.transposed();
    }
    const int64_t lwork = (4 * x.columns + 7) * x.columns + kLapackBlock * (x.rows + x.columns);
    // In column-major order x is its transpose, V S U^T: V^T and U are returned as rows.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *m = reinterpret_cast<T *>(room), *us = m + x.size(), *vhs = us + u.size();
            T *values = vhs + vh.size(), *work = values + x.columns;
            const int rows = int(x.rows), columns = int(x.columns), size = int(lwork);
            int *iwork = reinterpret_cast<int *>(work + lwork), info = 0;
            x.load(m, a.pointer<void>(3), i);
            if (!is_finite(m, x.size())) return false;
            typed<T>(lapack.sgesdd, lapack.dgesdd)("S", &columns, &rows, m, &columns, values, vhs,
                                                   &columns, us, &columns, work, &size, iwork,
                                                   &info, 1);
            if (info != 0) return false;
            u.store(a.pointer<void>(u_at), i, us);
            s.store(a.pointer<void>(1), i, values);
            vh.store(a.pointer<void>(vh_at), i, vhs);
            return true;
        });
    };
    const Svd svd = {x.rows, x.columns, tolerance_of(x)};
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        x.load(svd.matrix(room), a.pointer<void>(3), i);
        svd.run(room);
        u.store(a.pointer<void>(u_at), i, svd.matrix(room));
        s.store(a.pointer<void>(1), i, svd.values(room));
        vh.store(a.pointer<void>(vh_at), i, svd.vh(room));
    };
    return plan_with_lapack(x, kLapackSvd, 2 * x.size() + vh.size() + 9 * x.columns + lwork,
                            by_lapack, svd.doubles(), work_of(x), body);
}

// svdvals: the singular values only.
std::unique_ptr<Plan> plan_svdvals(const Operation &operation) {
    const Matrices s(operation.tensor(0), 1);
    Matrices x(operation.tensor(1), 2);
    if (x.rows < x.columns) x = x.transposed();
    const int64_t lwork = 10 * x.columns + kLapackBlock * (x.rows + x.columns);
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *m = reinterpret_cast<T *>(room), *values = m + x.size();
            T *work = values + x.columns;
            const int rows = int(x.rows), columns = int(x.columns), size = int(lwork), one = 1;
            int *iwork = reinterpret_cast<int *>(work + lwork), info = 0;
            x.load(m, a.pointer<void>(1), i);
            if (!is_finite(m, x.size())) return false;
            typed<T>(lapack.sgesdd, lapack.dgesdd)("N", &columns, &rows, m, &columns, values,
                                                   nullptr, &one, nullptr, &one, work, &size, iwork,
                                                   &info, 1);
            if (info == 0) s.store(a.pointer<void>(0), i, values);
            return info == 0;
        });
    };
    const Svd svd = {x.rows, x.columns, tolerance_of(x)};
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        x.load(svd.matrix(room), a.pointer<void>(1), i);
        svd.run(room);
        s.store(a.pointer<void>(0), i, svd.values(room));
    };
    return plan_with_lapack(x, kLapackSvd, x.size() + 9 * x.columns + lwork, by_lapack,
                            svd.doubles(), work_of(x), body);
}

std::unique_ptr<Plan> plan_either(const Operation &operation) {
    return operation.is("svdvals") ? plan_svdvals(operation) : plan_svd(operation);
}

INFINI_KERNEL("svd", plan_either);

}  // namespace
}  // namespace infini::cpu
