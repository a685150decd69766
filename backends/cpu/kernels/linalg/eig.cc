// eig and eigvals: reduce a complex matrix to Hessenberg form by reflections, and that to triangular
// form by rotations (shifted QR). Eigenvectors are computed from the triangular matrix.
#include "linalg/complex.h"

namespace infini::cpu {
namespace {

constexpr int kEigTries = 200;  // per eigenvalue

struct Schur {
    Complex *t, *z;  // n x n: z t z^H is the matrix
    int64_t n;

    // Applies 1 - 2 v v^H to t from both sides, for each column.
    void make_hessenberg(Complex *v) const {
        for (int64_t i = 0; i < n * n; ++i) z[i] = {i % (n + 1) == 0 ? 1.0 : 0.0, 0};
        for (int64_t k = 0; k + 2 < n; ++k) {
            double below = 0;
            for (int64_t i = k + 2; i < n; ++i) below += squared(t[i * n + k]);
            if (below < 1e-60) {  // relative to a largest element of 1
                for (int64_t i = k + 2; i < n; ++i) t[i * n + k] = {};
                continue;
            }
            const Complex first = t[(k + 1) * n + k];
            const double head = size(first), length = std::sqrt(below + head * head);
            const Complex turn = head == 0 ? Complex{1, 0} : first * (1 / head);
            for (int64_t i = k + 1; i < n; ++i) v[i] = t[i * n + k];
            v[k + 1] += turn * length;
            double norm = 0;
            for (int64_t i = k + 1; i < n; ++i) norm += squared(v[i]);
            for (int64_t j = k; j < n; ++j) {
                Complex sum;
                for (int64_t i = k + 1; i < n; ++i) sum += conj(v[i]) * t[i * n + j];
                sum = sum * (2 / norm);
                for (int64_t i = k + 1; i < n; ++i) t[i * n + j] -= v[i] * sum;
            }
            for (Complex *m : {t, z})
                for (int64_t i = 0; i < n; ++i) {
                    Complex sum;
                    for (int64_t j = k + 1; j < n; ++j) sum += m[i * n + j] * v[j];
                    sum = sum * (2 / norm);
                    for (int64_t j = k + 1; j < n; ++j) m[i * n + j] -= sum * conj(v[j]);
                }
            for (int64_t i = k + 2; i < n; ++i) t[i * n + k] = {};
        }
    }

    // False if it does not converge.
    bool make_triangular(double *cosines, Complex *sines) const {
        constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
        int64_t last = n - 1;
        for (int tries = 0; last > 0;) {
            int64_t first = last;
            for (; first > 0; --first) {
                const double around =
                    size(t[first * n + first]) + size(t[(first - 1) * n + first - 1]);
                Complex &low = t[first * n + first - 1];
                // The largest element is 1: smaller values are rounding errors.
                if (size(low) <= kEpsilon * std::max(around, 1.0)) {
                    low = {};
                    break;
                }
            }
            if (first == last) {
                --last, tries = 0;
                continue;
            }
            if (++tries > kEigTries) return false;
            const Complex shift =
                tries % 10 == 0 ? Complex{size(t[last * n + last - 1]), 0} : shift_of(last);
            for (int64_t i = first; i <= last; ++i) t[i * n + i] -= shift;
            // t = Q R, then R Q, for the block; the other rows and columns are updated accordingly.
            for (int64_t k = first; k < last; ++k) {
                const Complex x = t[k * n + k], y = t[(k + 1) * n + k];
                const double r = std::hypot(size(x), size(y)), head = size(x);
                cosines[k] = r == 0 ? 1 : head / r;
                const Complex turn = head == 0 ? Complex{1, 0} : x * (1 / head);
                sines[k] = r == 0 ? Complex{} : turn * conj(y) * (1 / r);
                for (int64_t j = k; j < n; ++j) {
                    const Complex p = t[k * n + j], q = t[(k + 1) * n + j];
                    t[k * n + j] = p * cosines[k] + sines[k] * q;
                    t[(k + 1) * n + j] = q * cosines[k] - conj(sines[k]) * p;
                }
            }
            for (int64_t k = first; k < last; ++k) {
                auto columns = [&](Complex *m, int64_t end) {
                    for (int64_t i = 0; i < end; ++i) {
                        const Complex p = m[i * n + k], q = m[i * n + k + 1];
                        m[i * n + k] = p * cosines[k] + conj(sines[k]) * q;
                        m[i * n + k + 1] = q * cosines[k] - sines[k] * p;
                    }
                };
                columns(t, std::min(k + 2, last + 1));
                columns(z, n);
            }
            for (int64_t i = first; i <= last; ++i) t[i * n + i] += shift;
        }
        return true;
    }

    // Wilkinson's shift: the eigenvalue of the last 2 x 2 block that is closer to its corner.
    Complex shift_of(int64_t last) const {
        const Complex a = t[(last - 1) * n + last - 1], b = t[(last - 1) * n + last];
        const Complex c = t[last * n + last - 1], d = t[last * n + last];
        const Complex half = (a - d) * 0.5, bc = b * c;
        Complex square = root(half * half + bc);
        if (half.re * square.re + half.im * square.im < 0) square = -square;
        const Complex below = half + square;
        return size(below) == 0 ? d - square : d - bc / below;
    }

    // Columns of `vectors`, with norm 1. v: n elements.
    void make_vectors(Complex *vectors, Complex *v) const {
        double norm = 0;
        for (int64_t i = 0; i < n * n; ++i) norm = std::max(norm, size(t[i]));
        const double least = std::max(norm, 1e-300) * std::numeric_limits<double>::epsilon();
        for (int64_t k = 0; k < n; ++k) {
            v[k] = {1, 0};
            for (int64_t i = k - 1; i >= 0; --i) {
                Complex sum;
                for (int64_t j = i + 1; j <= k; ++j) sum += t[i * n + j] * v[j];
                Complex gap = t[k * n + k] - t[i * n + i];
                if (size(gap) < least) gap = {least, 0};
                v[i] = sum / gap;
                const double large = size(v[i]);
                if (large > 1e100)
                    for (int64_t j = i; j <= k; ++j) v[j] = v[j] * (1 / large);
            }
            double length = 0;
            for (int64_t i = 0; i < n; ++i) {
                Complex sum;
                for (int64_t j = 0; j <= k; ++j) sum += z[i * n + j] * v[j];
                vectors[i * n + k] = sum;
                length += squared(sum);
            }
            for (int64_t i = 0; i < n; ++i)
                vectors[i * n + k] = vectors[i * n + k] * (1 / std::sqrt(length));
        }
    }
};

bool has_one_value(const Tensor &x) {
    for (int64_t i = 0; i < x.ndim; ++i)
        if (x.size(i) > 1 && x.stride(i) != 0) return false;
    return true;
}

// eig and, without vectors, eigvals.
struct Eig {
    bool vectors;
    int input;
    ComplexMatrices w, v, x;  // v: if there are vectors
    int64_t n, lwork;
    bool is_flat;  // one value for all imaginary parts: most likely the matrices are real

    explicit Eig(const Operation &operation)
        : vectors(operation.is("eig")),
          input(vectors ? 4 : 2),
          w(operation, 0, 1),
          v(operation, 2, 2),
          x(operation, input, 2),
          n(x.rows()),
          lwork((2 * kLapackBlock + 4) * n),
          is_flat(has_one_value(operation.tensor(input + 1))) {}

    int64_t lapack_doubles() const { return 5 * n * n + 6 * n + 2 * lwork; }
    int64_t doubles() const { return (vectors ? 7 : 5) * n * n + 5 * n; }

    void store(const Arguments &a, int64_t index, const Complex *values, const Complex *by_columns,
               double *spare) const {
        w.store(a, 0, index, values, spare);
        if (vectors) v.transposed().store(a, 2, index, by_columns, spare);
    }

    // Small matrices in double precision, which takes as long.
    bool run_real(const Lapack &lapack, const Arguments &a, int64_t index, double *room) const {
        if (x.re.dtype == INFINI_DTYPE_F32 && n >= kLapackEigSingle)
            return run_as<float>(lapack, a, index, room);
        return run_as<double>(lapack, a, index, room);
    }

    template <class T>
    bool run_as(const Lapack &lapack, const Arguments &a, int64_t index, double *room) const {
        T *matrix = reinterpret_cast<T *>(room), *made = matrix + n * n, *re = made + n * n;
        T *im = re + n, *work = im + n;
        Complex *values = as_complex(room + 2 * n * n + 2 * n + lwork), *rows = values + n;
        const int size = int(n), lsize = int(lwork);
        int info = 0;
        x.transposed().re.load(matrix, a.pointer<void>(input), index);
        if (!is_finite(matrix, n * n)) return false;
        typed<T>(lapack.sgeev, lapack.dgeev)("N", vectors ? "V" : "N", &size, matrix, &size, re, im,
                                             nullptr, &size, made, &size, work, &lsize, &info, 1,
                                             1);
        if (info != 0) return false;
        for (int64_t k = 0; k < n; ++k) {
            values[k] = {re[k], im[k]};
            if (!vectors) continue;
            // For a conjugate pair LAPACK stores the real parts, then the imaginary parts.
            const bool second = im[k] < 0, is_pair = im[k] != 0;
            const T *at = made + (second ? k - 1 : k) * n;
            for (int64_t i = 0; i < n; ++i)
                rows[k * n + i] = {at[i], !is_pair ? 0.0 : second ? -at[i + n] : at[i + n]};
        }
        store(a, index, values, rows, room);
        return true;
    }

    bool run_lapack(const Lapack &lapack, const Arguments &a, int64_t index, double *room) const {
        if (is_flat) {
            double value = 0;
            load_dtype(&value, a.pointer<char>(input + 1) + x.im.batch(index), x.im.dtype, 1, 1);
            if (value == 0) return run_real(lapack, a, index, room);
        }
        Complex *matrix = as_complex(room), *made = matrix + n * n, *values = made + n * n;
        double *work = &values[n].re, *rwork = work + 2 * lwork, *spare = rwork + 2 * n;
        const int size = int(n), lsize = int(lwork);
        int info = 0;
        x.transposed().load(matrix, a, input, index, spare);
        if (!is_finite(room, 2 * n * n)) return false;
        bool is_real = true;
        for (int64_t i = 0; i < n * n; ++i) is_real &= matrix[i].im == 0;
        if (is_real) return run_real(lapack, a, index, room);
        if (n < kLapackComplex) return false;
        lapack.zgeev("N", vectors ? "V" : "N", &size, room, &size, &values->re, nullptr, &size,
                     &made->re, &size, work, &lsize, rwork, &info, 1, 1);
        if (info != 0) return false;
        store(a, index, values, made, spare);
        return true;
    }

    void run(const Arguments &a, int64_t index, double *room) const {
        Complex *matrix = as_complex(room), *z = matrix + n * n, *made = z + n * n;
        Complex *line = made + (vectors ? n * n : 0), *values = line + n;
        double *cosines = &values[n].re, *spare = cosines + n;
        const Schur schur = {matrix, z, n};
        x.load(matrix, a, input, index, spare);
        const double scale = scale_down(matrix, n * n);
        bool good = !has_nan(matrix, n * n);
        if (good) {
            schur.make_hessenberg(line);
            good = schur.make_triangular(cosines, line);
        }
        if (good) {
            for (int64_t i = 0; i < n; ++i) values[i] = matrix[i * n + i] * scale;
            if (vectors) schur.make_vectors(made, line);
        } else {
            fill_nan(values, n);
            if (vectors) fill_nan(made, n * n);
        }
        w.store(a, 0, index, values, spare);
        if (vectors) v.store(a, 2, index, made, spare);
    }
};

std::unique_ptr<Plan> plan_eig(const Operation &operation) {
    const Eig eig(operation);
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        return eig.run_lapack(lapack, a, index, room);
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) { eig.run(a, index, room); };
    return plan_with_lapack(eig.x.re, eig.is_flat ? kLapackEig : kLapackComplex,
                            eig.lapack_doubles(), by_lapack, eig.doubles(),
                            eig.n * eig.n * eig.n * 64, body);
}

INFINI_KERNEL("eig", plan_eig);

}  // namespace
}  // namespace infini::cpu
