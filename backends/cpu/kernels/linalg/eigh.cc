// eigh: the eigenvalues and eigenvectors of symmetric matrices.
#include "linalg/eigh.h"

#include "linalg/lapack.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_eigh(const Operation &operation) {
    const Matrices w(operation.tensor(0), 1), x(operation.tensor(2), 2);
    const Matrices v = Matrices(operation.tensor(1), 2).transposed();
    const Eigh eigh = {x.rows};
    const int64_t n = x.rows, lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
    // In column-major order the lower triangle is the upper one; eigenvectors come as rows.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *m = reinterpret_cast<T *>(room), *values = m + x.size(), *work = values + n;
            const int size = int(n), lsize = int(lwork), lisize = int(liwork);
            int *iwork = reinterpret_cast<int *>(work + lwork), info = 0;
            x.load(m, a.pointer<void>(2), i);
            for (int64_t k = 0; k < n; ++k)  // the other triangle is never read
                std::fill(m + k * n + k + 1, m + (k + 1) * n, T(0));
            if (!is_finite(m, x.size())) return false;
            typed<T>(lapack.ssyevd, lapack.dsyevd)("V", "U", &size, m, &size, values, work, &lsize,
                                                   iwork, &lisize, &info, 1, 1);
            if (info != 0) return false;
            w.store(a.pointer<void>(0), i, values);
            v.store(a.pointer<void>(1), i, m);
            return true;
        });
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        x.load(eigh.matrix(room), a.pointer<void>(2), i);
        eigh.run(room);
        w.store(a.pointer<void>(0), i, eigh.diagonal(room));
        v.store(a.pointer<void>(1), i, eigh.matrix(room));
    };
    return plan_with_lapack(x, kLapackEigh, x.size() + n + lwork + liwork, by_lapack,
                            eigh.doubles(), 8 * x.size() * (x.rows + 8), body);
}

INFINI_KERNEL("eigh", plan_eigh);

}  // namespace
}  // namespace infini::cpu
