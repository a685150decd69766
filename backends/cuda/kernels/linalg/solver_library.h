// The vendor's library of dense linear algebra (cuSOLVER), as far as it is used here. Matrices are
// columns; numbers are those of its headers.
#pragma once

#include "libraries.h"

namespace infini::cuda::solver {

using Handle = void *;
using Params = void *;  // cusolverDnParams_t: of functions that take any type
using Jacobi = void *;  // gesvdjInfo_t

enum Operation { kAsIs = 0 };                         // cublasOperation_t
enum Triangle { kLower = 0 };                         // cublasFillMode_t
enum Vectors { kWithVectors = 1 };                    // cusolverEigMode_t
constexpr signed char kEconomy = 'S';                 // of gesvd: as many vectors as values
constexpr int kLargestJacobi = 32, kEconomySize = 1;  // of gesvdjBatched: the most rows; of gesvdj

// What a matrix is made of.
struct ElementType {
    bool is_double, is_complex;

    int index() const { return 2 * is_complex + is_double; }  // in tables of functions
    int code() const { return 4 * is_complex + is_double; }   // cudaDataType
    int real_code() const { return is_double; }               // of values
    size_t real_bytes() const { return is_double ? 8 : 4; }
    size_t bytes() const { return real_bytes() << is_complex; }
};

// `lead` is the distance of columns. Functions named *_size say what `work` needs: in bytes, of the
// device and of the host, if any type is taken; else in elements. Those of one type are in tables,
// by ElementType::index().
struct Library {
    int (*create)(Handle *);
    int (*set_stream)(Handle, void *stream);
    int (*create_params)(Params *);

    int (*getrf_size)(Handle, Params, int64_t m, int64_t n, int type, const void *a, int64_t lead,
                      int compute, size_t *device, size_t *host);
    int (*getrf)(Handle, Params, int64_t m, int64_t n, int type, void *a, int64_t lead,
                 int64_t *pivots, int compute, void *device, size_t device_bytes, void *host,
                 size_t host_bytes, int *info);
    int (*getrs)(Handle, Params, int operation, int64_t n, int64_t sides, int type, const void *a,
                 int64_t lead, const int64_t *pivots, int type_b, void *b, int64_t lead_b,
                 int *info);
    int (*potrf_size)(Handle, Params, int triangle, int64_t n, int type, const void *a,
                      int64_t lead, int compute, size_t *device, size_t *host);
    int (*potrf)(Handle, Params, int triangle, int64_t n, int type, void *a, int64_t lead,
                 int compute, void *device, size_t device_bytes, void *host, size_t host_bytes,
                 int *info);
    int (*geqrf_size)(Handle, Params, int64_t m, int64_t n, int type, const void *a, int64_t lead,
                      int type_tau, const void *tau, int compute, size_t *device, size_t *host);
    int (*geqrf)(Handle, Params, int64_t m, int64_t n, int type, void *a, int64_t lead,
                 int type_tau, void *tau, int compute, void *device, size_t device_bytes,
                 void *host, size_t host_bytes, int *info);
    int (*orgqr_size[4])(Handle, int m, int n, int k, const void *a, int lead, const void *tau,
                         int *size);
    int (*orgqr[4])(Handle, int m, int n, int k, void *a, int lead, const void *tau, void *work,
                    int size, int *info);
    int (*gesvd_size)(Handle, Params, signed char job_u, signed char job_vt, int64_t m, int64_t n,
                      int type, const void *a, int64_t lead, int type_s, const void *s, int type_u,
                      const void *u, int64_t lead_u, int type_vt, const void *vt, int64_t lead_vt,
                      int compute, size_t *device, size_t *host);
    int (*gesvd)(Handle, Params, signed char job_u, signed char job_vt, int64_t m, int64_t n,
                 int type, void *a, int64_t lead, int type_s, void *s, int type_u, void *u,
                 int64_t lead_u, int type_vt, void *vt, int64_t lead_vt, int compute, void *device,
                 size_t device_bytes, void *host, size_t host_bytes, int *info);
    int (*syevd_size)(Handle, Params, int vectors, int triangle, int64_t n, int type, const void *a,
                      int64_t lead, int type_w, const void *w, int compute, size_t *device,
                      size_t *host);
    int (*syevd)(Handle, Params, int vectors, int triangle, int64_t n, int type, void *a,
                 int64_t lead, int type_w, void *w, int compute, void *device, size_t device_bytes,
                 void *host, size_t host_bytes, int *info);

    // What follows may be null: older libraries lack some.
    int (*potrf_batched[4])(Handle, int triangle, int n, void **a, int lead, int *info, int count);
    int (*create_jacobi)(Jacobi *);
    int (*set_tolerance)(Jacobi, double tolerance);
    int (*set_most_sweeps)(Jacobi, int sweeps);
    int (*gesvdj_size[4])(Handle, int vectors, int economy, int m, int n, const void *a, int lead,
                          const void *s, const void *u, int lead_u, const void *v, int lead_v,
                          int *size, Jacobi);
    int (*gesvdj[4])(Handle, int vectors, int economy, int m, int n, void *a, int lead, void *s,
                     void *u, int lead_u, void *v, int lead_v, void *work, int size, int *info,
                     Jacobi);
    int (*gesvdj_batched_size[4])(Handle, int vectors, int m, int n, const void *a, int lead,
                                  const void *s, const void *u, int lead_u, const void *v,
                                  int lead_v, int *size, Jacobi, int count);
    int (*gesvdj_batched[4])(Handle, int vectors, int m, int n, void *a, int lead, void *s, void *u,
                             int lead_u, void *v, int lead_v, void *work, int size, int *info,
                             Jacobi, int count);
    int (*syev_batched_size)(Handle, Params, int vectors, int triangle, int64_t n, int type,
                             const void *a, int64_t lead, int type_w, const void *w, int compute,
                             size_t *device, size_t *host, int64_t count);
    int (*syev_batched)(Handle, Params, int vectors, int triangle, int64_t n, int type, void *a,
                        int64_t lead, int type_w, void *w, int compute, void *device,
                        size_t device_bytes, void *host, size_t host_bytes, int *info,
                        int64_t count);

    bool has_jacobi(int index) const;  // all that Jacobi's method needs

    // Null when it is not there, or lacks something.
    static const Library *get();
};

inline void *const kNoStream = reinterpret_cast<void *>(-1);  // of a handle that only answers

// What a thread calls the library with.
struct Session {
    Handle handle = nullptr;
    Params params = nullptr;
    Jacobi jacobi = nullptr;  // null: the library has no such functions
    void *stream = kNoStream;
};

// A session that no other thread has, for as long as this lives: one that worked in this stream
// before if there is one, so that its memory is not used by two streams at once.
class Borrowed {
public:
    Borrowed(const Library &library, int device, void *stream);
    ~Borrowed();
    Borrowed(const Borrowed &) = delete;

    explicit operator bool() const { return !status_; }  // false: none can be made
    const Session &session() const { return session_; }
    Error error() const;  // why

private:
    int make(const Library &library);

    const int device_;
    Session session_;
    int status_ = 0;
    const char *word_ = "";  // the function that gave the status
};

}  // namespace infini::cuda::solver
