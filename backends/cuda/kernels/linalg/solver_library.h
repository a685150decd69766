// The vendor's library of dense linear algebra (cuSOLVER), as far as it is used here. Matrices are
// columns of doubles; numbers are those of its headers.
#pragma once

#include "libraries.h"

namespace infini::cuda::solver {

using Handle = void *;

enum Operation { kAsIs = 0 };          // cublasOperation_t
enum Triangle { kLower = 0 };          // cublasFillMode_t
enum Vectors { kWithVectors = 1 };     // cusolverEigMode_t
constexpr signed char kEconomy = 'S';  // of gesvd: as many vectors as values

// `lead` is the distance of columns. Functions named *_size give the doubles that `work` needs.
struct Library {
    int (*create)(Handle *);
    int (*set_stream)(Handle, void *stream);
    int (*getrf_size)(Handle, int m, int n, double *a, int lead, int *size);
    int (*getrf)(Handle, int m, int n, double *a, int lead, double *work, int *pivots, int *info);
    int (*getrs)(Handle, int operation, int n, int sides, const double *a, int lead,
                 const int *pivots, double *b, int lead_b, int *info);
    int (*potrf_size)(Handle, int triangle, int n, double *a, int lead, int *size);
    int (*potrf)(Handle, int triangle, int n, double *a, int lead, double *work, int size,
                 int *info);
    int (*geqrf_size)(Handle, int m, int n, double *a, int lead, int *size);
    int (*geqrf)(Handle, int m, int n, double *a, int lead, double *tau, double *work, int size,
                 int *info);
    int (*orgqr_size)(Handle, int m, int n, int k, const double *a, int lead, const double *tau,
                      int *size);
    int (*orgqr)(Handle, int m, int n, int k, double *a, int lead, const double *tau, double *work,
                 int size, int *info);
    int (*gesvd_size)(Handle, int m, int n, int *size);
    int (*gesvd)(Handle, signed char job_u, signed char job_vt, int m, int n, double *a, int lead,
                 double *s, double *u, int lead_u, double *vt, int lead_vt, double *work, int size,
                 double *off_diagonal, int *info);
    int (*syevd_size)(Handle, int vectors, int triangle, int n, const double *a, int lead,
                      const double *w, int *size);
    int (*syevd)(Handle, int vectors, int triangle, int n, double *a, int lead, double *w,
                 double *work, int size, int *info);

    // Null when it is not there, or lacks something.
    static const Library *get();
};

inline void *const kNoStream = reinterpret_cast<void *>(-1);  // of a handle that only answers

// A handle that no other thread has, for as long as this lives: one that worked in this stream
// before if there is one, so that its memory is not used by two streams at once.
class Borrowed {
public:
    Borrowed(const Library &library, int device, void *stream);
    ~Borrowed();
    Borrowed(const Borrowed &) = delete;

    Handle handle() const { return handle_; }  // null: none can be made
    Error error() const;                       // why

private:
    const int device_;
    void *stream_;  // that it works in
    Handle handle_ = nullptr;
    int created_ = 0, bound_ = 0;  // statuses
};

}  // namespace infini::cuda::solver
