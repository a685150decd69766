// LAPACK for kernels: an optional OpenBLAS that ../runtime/lapack.cc opens at run time. It is the
// only external interface of kernels besides kernel.h and threads.h.
#pragma once

#include <cstddef>

namespace infini::cpu {

// Matrices are column-major. The trailing sizes are the lengths of the character arguments, which
// Fortran passes last.
struct Lapack {
    using Int = const int *;
    using Char = const char *;

    void (*dgeqrf)(Int m, Int n, double *a, Int lda, double *tau, double *work, Int lwork,
                   int *info);
    void (*dormqr)(Char side, Char transposed, Int m, Int n, Int k, const double *a, Int lda,
                   const double *tau, double *c, Int ldc, double *work, Int lwork, int *info,
                   size_t, size_t);
    void (*dsytrf)(Char triangle, Int n, double *a, Int lda, int *pivots, double *work, Int lwork,
                   int *info, size_t);
    void (*dgesdd)(Char job, Int m, Int n, double *a, Int lda, double *s, double *u, Int ldu,
                   double *vt, Int ldvt, double *work, Int lwork, int *iwork, int *info, size_t);
    void (*dgelsy)(Int m, Int n, Int columns, double *a, Int lda, double *b, Int ldb, int *pivots,
                   const double *rcond, int *rank, double *work, Int lwork, int *info);
    void (*dsyevd)(Char job, Char triangle, Int n, double *a, Int lda, double *w, double *work,
                   Int lwork, int *iwork, Int liwork, int *info, size_t, size_t);
    void (*dgeev)(Char left, Char right, Int n, double *a, Int lda, double *wr, double *wi,
                  double *vl, Int ldvl, double *vr, Int ldvr, double *work, Int lwork, int *info,
                  size_t, size_t);
    // Single precision.
    void (*sgeqrf)(Int m, Int n, float *a, Int lda, float *tau, float *work, Int lwork, int *info);
    void (*sormqr)(Char side, Char transposed, Int m, Int n, Int k, const float *a, Int lda,
                   const float *tau, float *c, Int ldc, float *work, Int lwork, int *info, size_t,
                   size_t);
    void (*ssytrf)(Char triangle, Int n, float *a, Int lda, int *pivots, float *work, Int lwork,
                   int *info, size_t);
    void (*sgesdd)(Char job, Int m, Int n, float *a, Int lda, float *s, float *u, Int ldu,
                   float *vt, Int ldvt, float *work, Int lwork, int *iwork, int *info, size_t);
    void (*sgelsy)(Int m, Int n, Int columns, float *a, Int lda, float *b, Int ldb, int *pivots,
                   const float *rcond, int *rank, float *work, Int lwork, int *info);
    void (*ssyevd)(Char job, Char triangle, Int n, float *a, Int lda, float *w, float *work,
                   Int lwork, int *iwork, Int liwork, int *info, size_t, size_t);
    void (*sgeev)(Char left, Char right, Int n, float *a, Int lda, float *wr, float *wi, float *vl,
                  Int ldvl, float *vr, Int ldvr, float *work, Int lwork, int *info, size_t, size_t);
    // Double-precision complex: pairs of doubles.
    void (*zgetrf)(Int m, Int n, double *a, Int lda, int *pivots, int *info);
    void (*zgetrs)(Char transposed, Int n, Int columns, const double *a, Int lda, Int pivots,
                   double *b, Int ldb, int *info, size_t);
    void (*zpotrf)(Char triangle, Int n, double *a, Int lda, int *info, size_t);
    void (*zgeqrf)(Int m, Int n, double *a, Int lda, double *tau, double *work, Int lwork,
                   int *info);
    void (*zungqr)(Int m, Int n, Int k, double *a, Int lda, const double *tau, double *work,
                   Int lwork, int *info);
    void (*zgesdd)(Char job, Int m, Int n, double *a, Int lda, double *s, double *u, Int ldu,
                   double *vt, Int ldvt, double *work, Int lwork, double *rwork, int *iwork,
                   int *info, size_t);
    void (*zheevd)(Char job, Char triangle, Int n, double *a, Int lda, double *w, double *work,
                   Int lwork, double *rwork, Int lrwork, int *iwork, Int liwork, int *info, size_t,
                   size_t);
    void (*zgeev)(Char left, Char right, Int n, double *a, Int lda, double *w, double *vl, Int ldvl,
                  double *vr, Int ldvr, double *work, Int lwork, double *rwork, int *info, size_t,
                  size_t);
};

// Null if no library is available. The first call opens the library.
const Lapack *lapack();

// Calls must be bracketed by these two, on every thread: exit() waits for them, because OpenBLAS's destructor unmaps
// the buffers that they use. False if the process is exiting and LAPACK must not be called.
bool enter_lapack();
void leave_lapack();

// Why the library named by INFINI_LAPACK_LIBRARY is not used. Null if it is used or none is named;
// in the latter case no library is opened.
const char *lapack_problem();

// The path of the library in use, which this call opens; empty if there is none.
const char *lapack_path();

}  // namespace infini::cpu
