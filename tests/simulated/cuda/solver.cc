// A libcusolver look-alike: factorizations in plain loops, strict about what it is given. What it
// refuses the library would refuse, or do wrongly. Matrices are columns of doubles.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "beside.h"

namespace {

constexpr int kSuccess = 0, kInvalid = 3, kFailed = 6;
constexpr int kAsIs = 0, kLower = 0, kWithVectors = 1;

struct Handle {
    void *stream = nullptr;
    std::atomic<bool> is_used{false};
};

int wrong(const char *sentence, int status = kInvalid) {
    std::fprintf(stderr, "simulated cuSOLVER: %s\n", sentence);
    return status;
}

void *runtime_function(const char *name) {
    static void *const library = open_runtime();
    return library ? dlsym(library, name) : nullptr;
}

struct Matrix {
    double *data;
    int lead;

    double &operator()(int row, int column) const { return data[int64_t(column) * lead + row]; }
    double *column(int k) const { return data + int64_t(k) * lead; }
};

double dot(const double *x, const double *y, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}
// Columns x and y, rotated.
void rotate(double *x, double *y, int n, double c, double s) {
    for (int i = 0; i < n; ++i) {
        const double u = x[i], v = y[i];
        x[i] = c * u - s * v, y[i] = s * u + c * v;
    }
}
// The cosine and sine that make two vectors orthogonal, of these squares and this product.
void find_rotation(double xx, double yy, double xy, double *c, double *s) {
    const double zeta = (yy - xx) / (2 * xy);
    const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1.0, zeta)), zeta);
    *c = 1 / std::hypot(1.0, t), *s = *c * t;
}

// One call: in the stream's order, with a handle that no other thread uses, and not in a capture,
// since the library may wait for the device.
int enqueue(Handle *handle, const char *name, const std::function<void()> &work) {
    if (std::getenv("INFINI_SIMULATED_TRACE"))
        std::fprintf(stderr, "simulated cuSOLVER: calls %s\n", name);
    using Launch = int (*)(void *, void (*)(void *), void *);
    using Ask = int (*)(void *, int *);
    static const auto launch = reinterpret_cast<Launch>(runtime_function("cudaLaunchHostFunc"));
    static const auto ask = reinterpret_cast<Ask>(runtime_function("cudaStreamIsCapturing"));
    if (!launch || !ask) return wrong("there is no runtime", kFailed);
    if (handle->is_used.exchange(true)) return wrong("a handle is used by two threads");
    int capturing = 0, status = kFailed;
    if (ask(handle->stream, &capturing) != 0 || capturing) {
        wrong("the stream is being captured");
    } else {
        auto call = [](void *data) {
            auto *kept = static_cast<std::function<void()> *>(data);
            (*kept)();
            delete kept;
        };
        if (launch(handle->stream, call, new std::function<void()>(work)) == 0) status = kSuccess;
    }
    handle->is_used = false;
    return status;
}

// What a call needs as workspace differs from call to call, and is overwritten.
int size_of(int m, int n) { return 3 * m + n + 7; }
bool take_work(double *work, int size, int needed) {
    if (!work || size < needed) return false;
    std::fill(work, work + needed, NAN);
    return true;
}

void factor_lu(Matrix a, int n, int *pivots, int *info) {
    *info = 0;
    for (int k = 0; k < n; ++k) {
        int pivot = k;
        for (int i = k + 1; i < n; ++i)
            if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
        pivots[k] = pivot + 1;
        for (int j = 0; j < n && pivot != k; ++j) std::swap(a(k, j), a(pivot, j));
        if (a(k, k) == 0 && *info == 0) *info = k + 1;
        for (int i = k + 1; i < n && a(k, k) != 0; ++i) a(i, k) /= a(k, k);
        for (int j = k + 1; j < n; ++j)
            for (int i = k + 1; i < n; ++i) a(i, j) -= a(i, k) * a(k, j);
    }
}
void solve_lu(Matrix a, int n, const int *pivots, Matrix b, int sides) {
    for (int j = 0; j < sides; ++j) {
        for (int k = 0; k < n; ++k) std::swap(b(k, j), b(pivots[k] - 1, j));
        for (int k = 0; k < n; ++k)
            for (int i = k + 1; i < n; ++i) b(i, j) -= a(i, k) * b(k, j);
        for (int k = n - 1; k >= 0; --k) {
            b(k, j) /= a(k, k);
            for (int i = 0; i < k; ++i) b(i, j) -= a(i, k) * b(k, j);
        }
    }
}
void factor_cholesky(Matrix a, int n, int *info) {
    *info = 0;
    for (int k = 0; k < n; ++k) {
        if (!(a(k, k) > 0)) {
            *info = k + 1;
            return;
        }
        a(k, k) = std::sqrt(a(k, k));
        for (int i = k + 1; i < n; ++i) a(i, k) /= a(k, k);
        for (int j = k + 1; j < n; ++j)
            for (int i = j; i < n; ++i) a(i, j) -= a(i, k) * a(j, k);
    }
}
// x becomes x - tau v (v x), where v[0] is 1.
void reflect(double *x, const double *v, int n, double tau) {
    const double sum = tau * (x[0] + dot(x + 1, v + 1, n - 1));
    x[0] -= sum;
    for (int i = 1; i < n; ++i) x[i] -= sum * v[i];
}
void factor_qr(Matrix a, int m, int n, double *tau) {
    for (int k = 0; k < std::min(m, n); ++k) {
        double *x = a.column(k) + k;
        const double below = std::sqrt(dot(x + 1, x + 1, m - k - 1));
        tau[k] = 0;
        if (below == 0) continue;
        const double first = x[0], result = -std::copysign(std::hypot(first, below), first);
        tau[k] = (result - first) / result;
        for (int i = 1; i < m - k; ++i) x[i] /= first - result;
        x[0] = result;
        for (int j = k + 1; j < n; ++j) reflect(a.column(j) + k, x, m - k, tau[k]);
    }
}
void make_q(Matrix a, int m, int n, const double *tau) {
    const std::vector<double> kept(a.data, a.data + int64_t(n - 1) * a.lead + m);
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) a(i, j) = i == j;
    for (int k = n - 1; k >= 0; --k)
        for (int j = k; j < n; ++j)
            reflect(a.column(j) + k, kept.data() + int64_t(k) * a.lead + k, m - k, tau[k]);
}

// Rotates columns of a until they are orthogonal (Hestenes), and those of v with them.
void make_orthogonal(Matrix a, int m, int n, Matrix v) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < n; ++i)
            for (int j = i + 1; j < n; ++j) {
                double *x = a.column(i), *y = a.column(j), c, s;
                const double xx = dot(x, x, m), yy = dot(y, y, m), xy = dot(x, y, m);
                if (!(std::abs(xy) > 1e-15 * m * std::sqrt(xx) * std::sqrt(yy))) continue;
                changed = true;
                find_rotation(xx, yy, xy, &c, &s);
                rotate(x, y, m, c, s), rotate(v.column(i), v.column(j), n, c, s);
            }
    }
}
std::vector<int> ordered(const std::vector<double> &values, bool descending) {
    std::vector<int> order(values.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = int(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return descending ? values[size_t(a)] > values[size_t(b)]
                          : values[size_t(a)] < values[size_t(b)];
    });
    return order;
}
// A column of length 1 that is orthogonal to those before it.
void complete(Matrix u, int m, int k) {
    for (int unit = 0; unit < m; ++unit) {
        double *x = u.column(k);
        for (int i = 0; i < m; ++i) x[i] = i == unit;
        for (int pass = 0; pass < 2; ++pass)
            for (int j = 0; j < k; ++j) {
                const double along = dot(x, u.column(j), m);
                for (int i = 0; i < m; ++i) x[i] -= along * u(i, j);
            }
        const double length = std::sqrt(dot(x, x, m));
        if (length * length * 2 * m < 1) continue;  // too near to the others
        for (int i = 0; i < m; ++i) x[i] /= length;
        return;
    }
}
void factor_svd(Matrix a, int m, int n, double *values, Matrix u, Matrix vt) {
    std::vector<double> turned(size_t(n) * size_t(n)), norms;
    const Matrix v{turned.data(), n};
    for (int i = 0; i < n; ++i) v(i, i) = 1;
    make_orthogonal(a, m, n, v);
    for (int k = 0; k < n; ++k) norms.push_back(std::sqrt(dot(a.column(k), a.column(k), m)));
    const std::vector<int> order = ordered(norms, true);
    for (int k = 0; k < n; ++k) {
        const int from = order[size_t(k)];
        values[k] = norms[size_t(from)];
        for (int i = 0; i < n; ++i) vt(k, i) = v(i, from);
        if (values[k] <= 1e-13 * values[0]) {
            complete(u, m, k);
            continue;
        }
        for (int i = 0; i < m; ++i) u(i, k) = a(i, from) / values[k];
    }
}
// Jacobi's rotations of rows and columns; the lower triangle counts.
void factor_symmetric(Matrix a, int n, double *values) {
    std::vector<double> made(size_t(n) * size_t(n)), found;
    const Matrix v{made.data(), n};
    double all = 0;
    for (int j = 0; j < n; ++j) {
        v(j, j) = 1;
        for (int i = 0; i < n; ++i) a(j, i) = i > j ? a(i, j) : a(j, i);
        all += dot(a.column(j), a.column(j), n);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < n; ++i)
            for (int j = i + 1; j < n; ++j) {
                if (!(std::abs(a(i, j)) > 1e-17 * std::sqrt(all))) continue;
                changed = true;
                double c, s;
                find_rotation(a(i, i), a(j, j), a(i, j), &c, &s);
                rotate(a.column(i), a.column(j), n, c, s);
                for (int k = 0; k < n; ++k) {
                    const double x = a(i, k), y = a(j, k);
                    a(i, k) = c * x - s * y, a(j, k) = s * x + c * y;
                }
                a(i, j) = a(j, i) = 0;
                rotate(v.column(i), v.column(j), n, c, s);
            }
    }
    for (int k = 0; k < n; ++k) found.push_back(a(k, k));
    const std::vector<int> order = ordered(found, false);
    for (int k = 0; k < n; ++k) {
        values[k] = found[size_t(order[size_t(k)])];
        std::copy_n(v.column(order[size_t(k)]), n, a.column(k));
    }
}

}  // namespace

extern "C" {

int cusolverDnCreate(Handle **handle) {
    *handle = new Handle;
    return kSuccess;
}
int cusolverDnSetStream(Handle *handle, void *stream) {
    handle->stream = stream;
    return kSuccess;
}

int cusolverDnDgetrf_bufferSize(Handle *, int m, int n, double *, int lead, int *size) {
    *size = size_of(m, n);
    return lead >= m ? kSuccess : wrong("getrf: a leading dimension is less than the rows");
}
int cusolverDnDgetrf(Handle *handle, int m, int n, double *a, int lead, double *work, int *pivots,
                     int *info) {
    if (m != n || lead < m || !pivots || !info) return wrong("getrf: an argument");
    return enqueue(handle, "getrf", [=] {
        take_work(work, size_of(m, n), size_of(m, n));
        factor_lu({a, lead}, n, pivots, info);
    });
}
int cusolverDnDgetrs(Handle *handle, int operation, int n, int sides, const double *a, int lead,
                     const int *pivots, double *b, int lead_b, int *info) {
    if (operation != kAsIs || lead < n || lead_b < n || !info) return wrong("getrs: an argument");
    return enqueue(handle, "getrs", [=] {
        solve_lu({const_cast<double *>(a), lead}, n, pivots, {b, lead_b}, sides);
        *info = 0;
    });
}

int cusolverDnDpotrf_bufferSize(Handle *, int, int n, double *, int lead, int *size) {
    *size = size_of(n, 2);
    return lead >= n ? kSuccess : wrong("potrf: a leading dimension is less than the rows");
}
int cusolverDnDpotrf(Handle *handle, int triangle, int n, double *a, int lead, double *work,
                     int size, int *info) {
    if (triangle != kLower || lead < n || !info) return wrong("potrf: an argument");
    return enqueue(handle, "potrf", [=] {
        if (take_work(work, size, size_of(n, 2))) factor_cholesky({a, lead}, n, info);
    });
}

int cusolverDnDgeqrf_bufferSize(Handle *, int m, int n, double *, int lead, int *size) {
    *size = size_of(n, m);
    return lead >= m ? kSuccess : wrong("geqrf: a leading dimension is less than the rows");
}
int cusolverDnDgeqrf(Handle *handle, int m, int n, double *a, int lead, double *tau, double *work,
                     int size, int *info) {
    if (lead < m || !tau || !info) return wrong("geqrf: an argument");
    return enqueue(handle, "geqrf", [=] {
        if (!take_work(work, size, size_of(n, m))) return;
        factor_qr({a, lead}, m, n, tau);
        *info = 0;
    });
}
int cusolverDnDorgqr_bufferSize(Handle *, int m, int n, int k, const double *, int lead,
                                const double *, int *size) {
    *size = size_of(m, 5 * n);
    return lead >= m && n <= m && k <= n ? kSuccess : wrong("orgqr: sizes do not fit");
}
int cusolverDnDorgqr(Handle *handle, int m, int n, int k, double *a, int lead, const double *tau,
                     double *work, int size, int *info) {
    if (lead < m || n > m || k != n || !info) return wrong("orgqr: an argument");
    return enqueue(handle, "orgqr", [=] {
        if (!take_work(work, size, size_of(m, 5 * n))) return;
        make_q({a, lead}, m, n, tau);
        *info = 0;
    });
}

int cusolverDnDgesvd_bufferSize(Handle *, int m, int n, int *size) {
    *size = size_of(m, n);
    return m >= n ? kSuccess : wrong("gesvd: fewer rows than columns");
}
int cusolverDnDgesvd(Handle *handle, signed char job_u, signed char job_vt, int m, int n, double *a,
                     int lead, double *s, double *u, int lead_u, double *vt, int lead_vt,
                     double *work, int size, double *, int *info) {
    if (job_u != 'S' || job_vt != 'S' || m < n || lead < m || lead_u < m || lead_vt < n || !info)
        return wrong("gesvd: an argument");
    return enqueue(handle, "gesvd", [=] {
        if (!take_work(work, size, size_of(m, n))) return;
        factor_svd({a, lead}, m, n, s, {u, lead_u}, {vt, lead_vt});
        *info = 0;
    });
}

int cusolverDnDsyevd_bufferSize(Handle *, int vectors, int triangle, int n, const double *,
                                int lead, const double *, int *size) {
    *size = size_of(n, n);
    const bool is_known = vectors == kWithVectors && triangle == kLower && lead >= n;
    return is_known ? kSuccess : wrong("syevd: an argument");
}
int cusolverDnDsyevd(Handle *handle, int vectors, int triangle, int n, double *a, int lead,
                     double *w, double *work, int size, int *info) {
    if (vectors != kWithVectors || triangle != kLower || lead < n || !info)
        return wrong("syevd: an argument");
    return enqueue(handle, "syevd", [=] {
        if (!take_work(work, size, size_of(n, n))) return;
        factor_symmetric({a, lead}, n, w);
        *info = 0;
    });
}

}  // extern "C"
