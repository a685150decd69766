// eigh: the eigenvalues and eigenvectors of symmetric matrices; eigvalsh: the eigenvalues only.
#include "linalg/eigh.h"

#include "linalg/lapack.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_eigh(const Operation &operation) {
    const bool vectors = !operation.is("eigvalsh");
    const int input = vectors ? 2 : 1;
    const Matrices w(operation.tensor(0), 1), x(operation.tensor(input), 2);
    const Matrices v = Matrices(operation.tensor(1), 2).transposed();  // if there are any
    const Eigh eigh = {x.rows, vectors};
    const int64_t n = x.rows, liwork = 3 + 5 * n;
    const int64_t lwork = vectors ? 1 + 6 * n + 2 * n * n : (kLapackBlock + 2) * n + 1;
    // In column-major order the lower triangle is the upper one; eigenvectors come as rows.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        return in_type_of(x, [&]<class T>(T) {
            T *m = reinterpret_cast<T *>(room), *values = m + x.size(), *work = values + n;
            const int size = int(n), lsize = int(lwork), lisize = int(liwork);
            int *iwork = reinterpret_cast<int *>(work + lwork), info = 0;
            x.load(m, a.pointer<void>(input), i);
            for (int64_t k = 0; k < n; ++k)  // the other triangle is never read
                std::fill(m + k * n + k + 1, m + (k + 1) * n, T(0));
            if (!is_finite(m, x.size())) return false;
            typed<T>(lapack.ssyevd, lapack.dsyevd)(vectors ? "V" : "N", "U", &size, m, &size,
                                                   values, work, &lsize, iwork, &lisize, &info, 1,
                                                   1);
            if (info != 0) return false;
            w.store(a.pointer<void>(0), i, values);
            if (vectors) v.store(a.pointer<void>(1), i, m);
            return true;
        });
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        x.load(eigh.matrix(room), a.pointer<void>(input), i);
        eigh.run(room);
        w.store(a.pointer<void>(0), i, eigh.diagonal(room));
        if (vectors) v.store(a.pointer<void>(1), i, eigh.matrix(room));
    };
    return plan_with_lapack(x, vectors ? kLapackEigh : kLapackEigvalsh,
                            x.size() + n + lwork + liwork, by_lapack, eigh.doubles(),
                            8 * x.size() * (x.rows + 8), body);
}

INFINI_KERNEL("eigh", plan_eigh);

}  // namespace
}  // namespace infini::cpu
