// A libcusolver look-alike: functions of one type.
#include "solver_call.h"

extern "C" {

#define SIMULATED_TYPE(letter, E, orgqr)                                                           \
    int cusolverDn##letter##orgqr##_bufferSize(Handle *, int m, int n, int k, const E *, int lead, \
                                               const E *, int *size) {                             \
        *size = int(elements_of(m, 5 * n));                                                        \
        return lead >= m && n <= m && k <= n ? kSuccess : wrong("orgqr", "sizes do not fit");      \
    }                                                                                              \
    int cusolverDn##letter##orgqr(Handle *handle, int m, int n, int k, E *a, int lead,             \
                                  const E *tau, E *work, int size, int *info) {                    \
        if (lead < m || n > m || k != n || !info || !work) return wrong("orgqr");                  \
        if (size < int(elements_of(m, 5 * n))) return wrong("orgqr", "the workspace");             \
        return enqueue(handle, "orgqr", [=] {                                                      \
            std::fill_n(work, elements_of(m, 5 * n), E(NAN));                                      \
            make_q<E>({a, lead}, m, n, tau);                                                       \
            *info = 0;                                                                             \
        });                                                                                        \
    }                                                                                              \
    int cusolverDn##letter##potrfBatched(Handle *handle, int triangle, int n, E **a, int lead,     \
                                         int *info, int count) {                                   \
        if (triangle != kLower || lead < n || !a || !info) return wrong("potrfBatched");           \
        return enqueue(handle, "potrfBatched", [=] {                                               \
            for (int i = 0; i < count; ++i) factor_cholesky<E>({a[i], lead}, n, info + i);         \
        });                                                                                        \
    }                                                                                              \
    int cusolverDn##letter##gesvdj_bufferSize(Handle *, int vectors, int economy, int m, int n,    \
                                              const E *, int, const Real<E> *, const E *, int,     \
                                              const E *, int, int *size, Jacobi *jacobi) {         \
        *size = int(elements_of(2 * m, n));                                                        \
        const bool is_known = vectors == kWithVectors && economy == 1 && jacobi && m >= n;         \
        return is_known ? kSuccess : wrong("gesvdj");                                              \
    }                                                                                              \
    int cusolverDn##letter##gesvdj(Handle *handle, int, int, int m, int n, E *a, int lead,         \
                                   Real<E> *s, E *u, int lead_u, E *v, int lead_v, E *work,        \
                                   int size, int *info, Jacobi *jacobi) {                          \
        if (lead < m || lead_u < m || lead_v < n || !jacobi || !(jacobi->tolerance > 0) || !info)  \
            return wrong("gesvdj");                                                                \
        if (!work || size < int(elements_of(2 * m, n))) return wrong("gesvdj", "the workspace");   \
        const bool stops = std::getenv("INFINI_SIMULATED_JACOBI_STOPS");                           \
        return enqueue(handle, "gesvdj", [=] {                                                     \
            std::fill_n(work, elements_of(2 * m, n), E(NAN));                                      \
            factor_svd<E>({a, lead}, m, n, s, {u, lead_u}, n, {v, lead_v});                        \
            *info = stops ? n + 1 : 0;                                                             \
            if (stops) std::fill_n(u, m, E(NAN));                                                  \
        });                                                                                        \
    }                                                                                              \
    int cusolverDn##letter##gesvdjBatched_bufferSize(                                              \
        Handle *, int vectors, int m, int n, const E *, int, const Real<E> *, const E *, int,      \
        const E *, int, int *size, Jacobi *jacobi, int count) {                                    \
        *size = int(elements_of(m, n)) * count;                                                    \
        const bool is_small = m <= kLargestBatched && n <= kLargestBatched;                        \
        const bool is_known = vectors == kWithVectors && jacobi && is_small;                       \
        return is_known ? kSuccess : wrong("gesvdjBatched");                                       \
    }                                                                                              \
    int cusolverDn##letter##gesvdjBatched(Handle *handle, int, int m, int n, E *a, int lead,       \
                                          Real<E> *s, E *u, int lead_u, E *v, int lead_v, E *work, \
                                          int size, int *info, Jacobi *jacobi, int count) {        \
        const int needed = int(elements_of(m, n)) * count;                                         \
        if (lead != m || lead_u != m || lead_v != n || !jacobi || !info)                           \
            return wrong("gesvdjBatched");                                                         \
        if (!work || size < needed) return wrong("gesvdjBatched", "the workspace");                \
        return enqueue(handle, "gesvdjBatched", [=] {                                              \
            std::fill_n(work, needed, E(NAN));                                                     \
            for (int i = 0; i < count; ++i) {                                                      \
                factor_svd<E>({a + i * m * n, lead}, m, n, s + i * n, {u + i * m * m, lead_u}, m,  \
                              {v + i * n * n, lead_v});                                            \
                info[i] = 0;                                                                       \
            }                                                                                      \
        });                                                                                        \
    }

SIMULATED_TYPE(S, float, orgqr)
SIMULATED_TYPE(D, double, orgqr)
SIMULATED_TYPE(C, std::complex<float>, ungqr)
SIMULATED_TYPE(Z, std::complex<double>, ungqr)

}  // extern "C"
