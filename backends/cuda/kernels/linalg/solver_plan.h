// What plans that call the vendor's solvers share: matrices are copied to dense columns, factored
// there, and results copied back.
#pragma once

#include <mutex>

#include "device/linalg/solver.cuh"
#include "kernels/linalg/solver.h"
#include "kernels/linalg/solver_library.h"

namespace infini::cuda::solver {

using Compiled = std::shared_ptr<const Kernel>;
enum MatrixShape { kWholeMatrix, kLowerTriangle, kUpperTriangle };  // as in solver.cuh
constexpr int64_t kSolverThreads = 256;

// Memory in the workspace: `each` bytes for every matrix.
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

    // False: the library does not take this.
    bool prepare(Device &device);
    Error run(const Arguments &arguments, const Stream &stream) const final;

protected:
    // One run, for some matrices of the batch.
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
        // call(i) for each matrix; it returns a status of the library's function `word`.
        template <class F>
        Error each(const char *word, const F &call) const {
            for (int64_t i = 0; i < count; ++i)
                INFINI_CUDA_TRY(check(Part::kSolver, call(i), word));
            return infinirtSuccess;
        }
    };

    // Takes areas, and asks the library what it needs for `count_` matrices at a time. False: the
    // library does not take this.
    virtual bool lay_out(const Session &session) = 0;
    virtual void compile(Device &device) = 0;
    virtual Error factor(const Call &call) const = 0;

    Area area(size_t each);
    Area elements(int64_t rows, int64_t columns) {
        return area(size_t(rows * columns) * type_.bytes());
    }
    Area reals(int64_t count) { return area(size_t(count) * type_.real_bytes()); }
    // The library's own memory, at least: always true.
    bool need_work(size_t device_bytes, size_t host_bytes);

    // finite: what is not has no result, which is known to what is compiled after this.
    Compiled load(Device &device, int64_t shape, bool finite);
    Compiled store(Device &device, const Storing &how) const;
    Source source(const char *file, bool is_complex) const;

    const Library &l_;
    const SolverWork given_;
    const ElementType type_;
    const bool is_batched_;  // one call of the library for many matrices
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
Made make_lu(const Library &library, const SolverWork &work);  // and what is solved by it
Made make_cholesky(const Library &library, const SolverWork &work, bool is_batched);
Made make_qr(const Library &library, const SolverWork &work);
Made make_svd(const Library &library, const SolverWork &work, bool is_batched);
Made make_eigh(const Library &library, const SolverWork &work, bool is_batched);

}  // namespace infini::cuda::solver
