// svd: singular values and vectors of real matrices.
#include "linalg/lapack.h"
#include "linalg/svd_jacobi.h"
#include "linalg/tall_svd.h"
#include "linalg/thin_qr.h"

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

// Whether the values are found by a QR factorisation of few columns: for matrices so large that
// LAPACK, too, would factor them in their own precision.
bool by_thin_qr(const Matrices &x) {
    return is_thin(x.rows, x.columns) && x.size() >= 2 * kLapackSvd * kLapackSvd;
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
    const bool tall = is_tall(x.rows, x.columns);
    // In column-major order x is its transpose, V S U^T: V^T and U are returned as rows.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *m = reinterpret_cast<T *>(room), *us = m + x.size(), *vhs = us + u.size();
            T *values = vhs + vh.size(), *work = values + x.columns;
            const int rows = int(x.rows), columns = int(x.columns), size = int(lwork);
            int *iwork = reinterpret_cast<int *>(work + lwork), info = 0;
            if (tall) {
                const TallSvd<T> svd(lapack, m, x.rows, x.columns);
                if (!svd.run(x.transposed(), a.pointer<void>(3), i, true)) return false;
                svd.store_u(u.transposed(), a.pointer<void>(u_at), i);
                s.store(a.pointer<void>(1), i, svd.values);
                vh.transposed().store(a.pointer<void>(vh_at), i, svd.vh);
                return true;
            }
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
    if (by_thin_qr(x)) {
        const Svd small = {x.columns, x.columns, tolerance_of(x)};
        auto thin = [=](const Arguments &a, int64_t i, double *room) {
            const bool done = in_type_of(x, [&]<class T>(T) {
                double *inner = room + thin_doubles(x, x.columns);
                ThinQr<T> qr(room, x.rows, x.columns);
                if (!qr.factor(x.transposed(), a.pointer<void>(3), i)) return false;
                qr.copy_r(small.matrix(inner));
                small.run(inner);
                qr.store_q(u.transposed(), small.matrix(inner), a.pointer<void>(u_at), i);
                s.store(a.pointer<void>(1), i, small.values(inner));
                vh.store(a.pointer<void>(vh_at), i, small.vh(inner));
                return true;
            });
            if (!done) body(a, i, room);
        };
        const int64_t doubles = thin_doubles(x, x.columns) + small.doubles();
        return plan_batch(x.count(), std::max(doubles, svd.doubles()), work_of(x), thin);
    }
    const int64_t doubles = 2 * x.size() + vh.size() + 9 * x.columns + lwork;
    const int64_t tall_doubles = tall ? TallSvd<double>::elements(x.rows, x.columns) : 0;
    return plan_with_lapack(x, kLapackSvd, std::max(doubles, tall_doubles), by_lapack,
                            svd.doubles(), work_of(x), body);
}

// svdvals: the singular values only.
std::unique_ptr<Plan> plan_svdvals(const Operation &operation) {
    const Matrices s(operation.tensor(0), 1);
    Matrices x(operation.tensor(1), 2);
    if (x.rows < x.columns) x = x.transposed();
    const int64_t lwork = 10 * x.columns + kLapackBlock * (x.rows + x.columns);
    const bool tall = is_tall(x.rows, x.columns);
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *m = reinterpret_cast<T *>(room), *values = m + x.size();
            T *work = values + x.columns;
            const int rows = int(x.rows), columns = int(x.columns), size = int(lwork), one = 1;
            int *iwork = reinterpret_cast<int *>(work + lwork), info = 0;
            if (tall) {
                const TallSvd<T> svd(lapack, m, x.rows, x.columns);
                if (!svd.run(x.transposed(), a.pointer<void>(1), i, false)) return false;
                s.store(a.pointer<void>(0), i, svd.values);
                return true;
            }
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
    if (by_thin_qr(x)) {
        const Svd small = {x.columns, x.columns, tolerance_of(x)};
        auto thin = [=](const Arguments &a, int64_t i, double *room) {
            const bool done = in_type_of(x, [&]<class T>(T) {
                double *inner = room + thin_doubles(x, x.columns);
                ThinQr<T> qr(room, x.rows, x.columns);
                if (!qr.factor(x.transposed(), a.pointer<void>(1), i)) return false;
                qr.copy_r(small.matrix(inner));
                small.run(inner);
                s.store(a.pointer<void>(0), i, small.values(inner));
                return true;
            });
            if (!done) body(a, i, room);
        };
        const int64_t doubles = thin_doubles(x, x.columns) + small.doubles();
        return plan_batch(x.count(), std::max(doubles, svd.doubles()), work_of(x), thin);
    }
    const int64_t tall_doubles = tall ? TallSvd<double>::elements(x.rows, x.columns) : 0;
    return plan_with_lapack(x, kLapackSvd, std::max(x.size() + 9 * x.columns + lwork, tall_doubles),
                            by_lapack, svd.doubles(), work_of(x), body);
}

std::unique_ptr<Plan> plan_either(const Operation &operation) {
    return operation.is("svdvals") ? plan_svdvals(operation) : plan_svd(operation);
}

INFINI_KERNEL("svd", plan_either);

}  // namespace
}  // namespace infini::cpu
