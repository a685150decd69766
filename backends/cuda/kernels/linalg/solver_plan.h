// Shared by plans that call the vendor's solvers: matrices are copied to dense columns, factored
// there, and results copied back.
#pragma once

#include <mutex>

#include "device/linalg/solver.cuh"
#include "kernels/linalg/solver.h"
#include "libraries.h"

namespace infini::cuda::solver {

// The used part of the vendor's library of dense linear algebra (cuSOLVER). Matrices are
// column-major; enumerators are those of its headers.
using Handle = void *;
using Params = void *;  // cusolverDnParams_t: for functions of any type
using Jacobi = void *;  // gesvdjInfo_t

enum Operation { kAsIs = 0 };                         // cublasOperation_t
enum Triangle { kLower = 0 };                         // cublasFillMode_t
enum Vectors { kWithVectors = 1 };                    // cusolverEigMode_t
constexpr signed char kEconomy = 'S';                 // gesvd: as many vectors as values
constexpr int kLargestJacobi = 32, kEconomySize = 1;  // gesvdjBatched: maximum rows; gesvdj

// The element type of a matrix.
struct ElementType {
    bool is_double, is_complex;

    int index() const { return 2 * is_complex + is_double; }  // in tables of functions
    int code() const { return 4 * is_complex + is_double; }   // cudaDataType
    int real_code() const { return is_double; }               // of singular values and eigenvalues
    size_t real_bytes() const { return is_double ? 8 : 4; }
    size_t bytes() const { return real_bytes() << is_complex; }
};

// `lead` is the leading dimension. Functions named *_size return the size of `work`: in bytes, on
// the device and the host, for generic functions; otherwise in elements. Functions of one type are
// in tables, by ElementType::index().
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

    // The following may be null: older libraries lack some.
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

    bool has_jacobi(int index) const;  // all functions for Jacobi's method

    // Null if it is missing or incomplete.
    static const Library *get();
};

inline void *const kNoStream = reinterpret_cast<void *>(-1);  // for handles used for queries only

// A thread's handles for calls of the library.
struct Session {
    Handle handle = nullptr;
    Params params = nullptr;
    Jacobi jacobi = nullptr;  // null: the library has no such functions
    void *stream = kNoStream;
};

// Exclusive use of a session: preferably one last used on the same stream, so that its memory is
// not used by two streams at once.
class Borrowed {
public:
    Borrowed(const Library &library, int device, void *stream);
    ~Borrowed();
    Borrowed(const Borrowed &) = delete;

    explicit operator bool() const { return !status_; }  // false: none could be created
    const Session &session() const { return session_; }
    Error error() const;  // why no session was created

private:
    int make(const Library &library);

    const int device_;
    Session session_;
    int status_ = 0;
    const char *word_ = "";  // the function that returned the status
};

using Compiled = std::shared_ptr<const Kernel>;
enum MatrixShape { kWholeMatrix, kLowerTriangle, kUpperTriangle };  // as in solver.cuh
constexpr int64_t kSolverThreads = 256;

// Memory in the workspace: `each` bytes per matrix.
struct Area {
    size_t offset = 0, each = 0;
};

// How a result is stored; see solver.cuh.
struct Storing {
    int64_t shape = kWholeMatrix;
    bool is_complex = false;
    bool with_verdict = true, looks_at_last = false, conjugates = false;
};

class SolverPlan : public Plan {
public:
    SolverPlan(const Library &library, const SolverWork &work, bool is_batched);

    // False: unsupported by the library.
    bool prepare(Device &device);
    Error run(const Arguments &arguments, const Stream &stream) const final;

protected:
    // One run, for a chunk of the batch.
    struct Call {
        const SolverPlan &plan;
        const Arguments &arguments;
        const Stream &stream;
        const Session &session;
        void *host;  // memory for the library
        int64_t first = 0, count = 0;

        template <class E = void>
        E *at(const Area &area, int64_t matrix = 0) const {
            return reinterpret_cast<E *>(arguments.workspace() + area.offset +
                                         size_t(matrix) * area.each);
        }
        void *work() const { return at(plan.work_); }
        int *info(int64_t matrix = 0) const { return at<int>(plan.info_, matrix); }

        SolverParams params(const SolverOperand &operand, const Area &columns, int64_t lead) const;
        // Between a tensor and columns of an area.
        Error move(const Compiled &kernel, const SolverOperand &operand, const Area &columns,
                   int64_t lead) const;
        Error launch(const Compiled &kernel, const SolverParams &params) const;
        // Calls call(i) for each matrix; it returns a status of the library's function `word`.
        template <class F>
        Error each(const char *word, const F &call) const {
            for (int64_t i = 0; i < count; ++i)
                INFINI_CUDA_TRY(check(Part::kSolver, call(i), word));
            return infinirtSuccess;
        }
    };

    // Allocates areas, and queries the library's requirements for `count_` matrices at a time.
    // Returns false if the library does not support the case.
    virtual bool lay_out(const Session &session) = 0;
    virtual void compile(Device &device) = 0;
    virtual Error factor(const Call &call) const = 0;

    Area area(size_t each);
    Area elements(int64_t rows, int64_t columns) {
        return area(size_t(rows * columns) * type_.bytes());
    }
    Area reals(int64_t count) { return area(size_t(count) * type_.real_bytes()); }
    // Only the library's own memory: always true.
    bool need_work(size_t device_bytes, size_t host_bytes);

    // finite: matrices that are not finite have no result; set before the kernels are compiled.
    Compiled load(Device &device, int64_t shape, bool finite);
    Compiled store(Device &device, const Storing &how) const;
    Source source(const char *file, bool is_complex) const;

    const Library &l_;
    const SolverWork given_;
    const ElementType type_;
    const bool is_batched_;  // one library call for many matrices
    const int64_t rows_, columns_, lesser_;
    int64_t count_ = 1;  // matrices at a time
    size_t work_bytes_ = 0, host_bytes_ = 0;
    Area status_, info_, a_, work_;

private:
    Error run_own(const Arguments &arguments, const Stream &stream) const;

    bool finds_infinities_ = false;
    mutable std::mutex own_lock_;
    mutable std::unique_ptr<Plan> own_;
};

using Made = std::unique_ptr<SolverPlan>;
Made make_lu(const Library &library, const SolverWork &work);  // and solutions based on it
Made make_cholesky(const Library &library, const SolverWork &work, bool is_batched);
Made make_qr(const Library &library, const SolverWork &work);
Made make_svd(const Library &library, const SolverWork &work, bool is_batched);
Made make_eigh(const Library &library, const SolverWork &work, bool is_batched);

}  // namespace infini::cuda::solver
