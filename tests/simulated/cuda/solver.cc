// A libcusolver look-alike with strict argument checks. It rejects what the library would reject,
// or compute wrongly. This file: functions for any type.
#include "solver_call.h"

extern "C" {

int cusolverDnCreate(Handle **handle) {
    *handle = new Handle;
    return kSuccess;
}
int cusolverDnSetStream(Handle *handle, void *stream) {
    handle->stream = stream;
    return kSuccess;
}
int cusolverDnCreateParams(Params **params) {
    *params = new Params;
    return kSuccess;
}
int cusolverDnCreateGesvdjInfo(Jacobi **made) {
    *made = new Jacobi;
    return kSuccess;
}
int cusolverDnXgesvdjSetTolerance(Jacobi *jacobi, double tolerance) {
    jacobi->tolerance = tolerance;
    return tolerance > 0 ? kSuccess : wrong("gesvdj", "a tolerance");
}
int cusolverDnXgesvdjSetMaxSweeps(Jacobi *jacobi, int sweeps) {
    jacobi->sweeps = sweeps;
    return sweeps > 0 ? kSuccess : wrong("gesvdj", "a number of sweeps");
}

int cusolverDnXgetrf_bufferSize(Handle *, Params *params, int64_t m, int64_t n, int type,
                                const void *, int64_t lead, int compute, size_t *device,
                                size_t *host) {
    if (!params || lead < m || compute != type) return wrong("getrf");
    return give_sizes(elements_of(m, n) * bytes_of(type), device, host);
}
int cusolverDnXgetrf(Handle *handle, Params *, int64_t m, int64_t n, int type, void *a,
                     int64_t lead, int64_t *pivots, int compute, void *device, size_t bytes,
                     void *host, size_t host_bytes, int *info) {
    const Work work{device, bytes, host, host_bytes};
    const size_t needed = elements_of(m, n) * bytes_of(type);
    if (lead < m || !pivots || !info || compute != type || !work.has(needed)) return wrong("getrf");
    return enqueue_typed(handle, "getrf", type, [=](auto e) {
        work.take(needed);
        factor_lu(columns<decltype(e)>(a, lead), m, n, pivots, info);
    });
}
int cusolverDnXgetrs(Handle *handle, Params *, int operation, int64_t n, int64_t sides, int type,
                     const void *a, int64_t lead, const int64_t *pivots, int type_b, void *b,
                     int64_t lead_b, int *info) {
    if (operation != kAsIs || lead < n || lead_b < n || type != type_b || !info)
        return wrong("getrs");
    return enqueue_typed(handle, "getrs", type, [=](auto e) {
        using E = decltype(e);
        solve_lu(columns<E>(a, lead), n, pivots, columns<E>(b, lead_b), sides);
        *info = 0;
    });
}

int cusolverDnXpotrf_bufferSize(Handle *, Params *params, int triangle, int64_t n, int type,
                                const void *, int64_t lead, int compute, size_t *device,
                                size_t *host) {
    if (!params || triangle != kLower || lead < n || compute != type) return wrong("potrf");
    return give_sizes(elements_of(n, 2) * bytes_of(type), device, host);
}
int cusolverDnXpotrf(Handle *handle, Params *, int triangle, int64_t n, int type, void *a,
                     int64_t lead, int compute, void *device, size_t bytes, void *host,
                     size_t host_bytes, int *info) {
    const Work work{device, bytes, host, host_bytes};
    const size_t needed = elements_of(n, 2) * bytes_of(type);
    if (triangle != kLower || lead < n || compute != type || !info || !work.has(needed))
        return wrong("potrf");
    return enqueue_typed(handle, "potrf", type, [=](auto e) {
        work.take(needed);
        factor_cholesky(columns<decltype(e)>(a, lead), n, info);
    });
}

int cusolverDnXgeqrf_bufferSize(Handle *, Params *params, int64_t m, int64_t n, int type,
                                const void *, int64_t lead, int type_tau, const void *, int compute,
                                size_t *device, size_t *host) {
    if (!params || lead < m || type_tau != type || compute != type) return wrong("geqrf");
    return give_sizes(elements_of(n, m) * bytes_of(type), device, host);
}
int cusolverDnXgeqrf(Handle *handle, Params *, int64_t m, int64_t n, int type, void *a,
                     int64_t lead, int type_tau, void *tau, int compute, void *device, size_t bytes,
                     void *host, size_t host_bytes, int *info) {
    const Work work{device, bytes, host, host_bytes};
    const size_t needed = elements_of(n, m) * bytes_of(type);
    if (lead < m || !tau || type_tau != type || compute != type || !info || !work.has(needed))
        return wrong("geqrf");
    return enqueue_typed(handle, "geqrf", type, [=](auto e) {
        using E = decltype(e);
        work.take(needed);
        factor_qr(columns<E>(a, lead), m, n, static_cast<E *>(tau));
        *info = 0;
    });
}

int cusolverDnXgesvd_bufferSize(Handle *, Params *params, signed char, signed char, int64_t m,
                                int64_t n, int type, const void *, int64_t, int type_s,
                                const void *, int type_u, const void *, int64_t, int type_vt,
                                const void *, int64_t, int compute, size_t *device, size_t *host) {
    if (!params || m < n || type_s != real_of(type) || type_u != type || type_vt != type ||
        compute != type)
        return wrong("gesvd");
    return give_sizes(elements_of(m, n) * bytes_of(type), device, host);
}
int cusolverDnXgesvd(Handle *handle, Params *, signed char job_u, signed char job_vt, int64_t m,
                     int64_t n, int type, void *a, int64_t lead, int type_s, void *s, int type_u,
                     void *u, int64_t lead_u, int type_vt, void *vt, int64_t lead_vt, int compute,
                     void *device, size_t bytes, void *host, size_t host_bytes, int *info) {
    const Work work{device, bytes, host, host_bytes};
    const size_t needed = elements_of(m, n) * bytes_of(type);
    if (job_u != 'S' || job_vt != 'S' || m < n || lead < m || lead_u < m || lead_vt < n || !info ||
        type_s != real_of(type) || type_u != type || type_vt != type || compute != type ||
        !work.has(needed))
        return wrong("gesvd");
    return enqueue_typed(handle, "gesvd", type, [=](auto e) {
        using E = decltype(e);
        work.take(needed);
        std::vector<E> made(size_t(n * n));
        const Matrix<E> v{made.data(), n}, to = columns<E>(vt, lead_vt);
        factor_svd(columns<E>(a, lead), m, n, static_cast<Real<E> *>(s), columns<E>(u, lead_u), n,
                   v);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < n; ++k) to(i, k) = simulated::conj(v(k, i));
        *info = 0;
    });
}

int cusolverDnXsyevd_bufferSize(Handle *, Params *params, int vectors, int triangle, int64_t n,
                                int type, const void *, int64_t lead, int type_w, const void *,
                                int compute, size_t *device, size_t *host) {
    if (!params || vectors != kWithVectors || triangle != kLower || lead < n ||
        type_w != real_of(type) || compute != type)
        return wrong("syevd");
    return give_sizes(elements_of(n, n) * bytes_of(type), device, host);
}
int cusolverDnXsyevd(Handle *handle, Params *, int vectors, int triangle, int64_t n, int type,
                     void *a, int64_t lead, int type_w, void *w, int compute, void *device,
                     size_t bytes, void *host, size_t host_bytes, int *info) {
    const Work work{device, bytes, host, host_bytes};
    const size_t needed = elements_of(n, n) * bytes_of(type);
    if (vectors != kWithVectors || triangle != kLower || lead < n || type_w != real_of(type) ||
        compute != type || !info || !work.has(needed))
        return wrong("syevd");
    return enqueue_typed(handle, "syevd", type, [=](auto e) {
        using E = decltype(e);
        work.take(needed);
        factor_symmetric(columns<E>(a, lead), n, static_cast<Real<E> *>(w));
        *info = 0;
    });
}

int cusolverDnXsyevBatched_bufferSize(Handle *handle, Params *params, int vectors, int triangle,
                                      int64_t n, int type, const void *a, int64_t lead, int type_w,
                                      const void *w, int compute, size_t *device, size_t *host,
                                      int64_t count) {
    const int status = cusolverDnXsyevd_bufferSize(handle, params, vectors, triangle, n, type, a,
                                                   lead, type_w, w, compute, device, host);
    *device *= size_t(count);
    return status;
}
int cusolverDnXsyevBatched(Handle *handle, Params *, int vectors, int triangle, int64_t n, int type,
                           void *a, int64_t lead, int type_w, void *w, int compute, void *device,
                           size_t bytes, void *host, size_t host_bytes, int *info, int64_t count) {
    const Work work{device, bytes, host, host_bytes};
    const size_t needed = elements_of(n, n) * bytes_of(type) * size_t(count);
    if (vectors != kWithVectors || triangle != kLower || lead != n || type_w != real_of(type) ||
        compute != type || !info || !work.has(needed))
        return wrong("syevBatched");
    return enqueue_typed(handle, "syevBatched", type, [=](auto e) {
        using E = decltype(e);
        work.take(needed);
        for (int64_t i = 0; i < count; ++i) {
            factor_symmetric(columns<E>(static_cast<E *>(a) + i * n * n, n), n,
                             static_cast<Real<E> *>(w) + i * n);
            info[i] = 0;
        }
    });
}

}  // extern "C"
