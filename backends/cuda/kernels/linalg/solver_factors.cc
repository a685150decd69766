// Factorizations by the vendor's library: Cholesky and QR.
#include <algorithm>

#include "kernels/linalg/solver_plan.h"

namespace infini::cuda::solver {
namespace {

class CholeskyPlan final : public SolverPlan {
public:
    using SolverPlan::SolverPlan;

private:
    bool lay_out(const Session &s) override {
        size_t device = 0, host = 0;
        if (is_batched_) {
            pointers_ = area(sizeof(void *));
            return true;
        }
        return l_.potrf_size(s.handle, s.params, kLower, rows_, type_.code(), nullptr, rows_,
                             type_.code(), &device, &host) == 0 &&
               need_work(device, host);
    }

    void compile(Device &device) override {
        load_ = load(device, kLowerTriangle, false);
        Storing how;
        how.shape = kLowerTriangle, how.is_complex = type_.is_complex;
        how.looks_at_last = true;  // a NaN in the matrix reaches the last element
        store_ = store(device, how);
    }

    Error factor(const Call &c) const override {
        SolverParams p = c.params(given_.x, a_, rows_);
        if (is_batched_) p.pointers = c.at<void *>(pointers_);
        INFINI_CUDA_TRY(c.launch(load_, p));
        INFINI_CUDA_TRY(is_batched_ ? factor_together(c) : factor_each(c));
        return c.move(store_, given_.y, a_, rows_);
    }
    Error factor_each(const Call &c) const {
        return c.each("Xpotrf", [&](int64_t i) {
            return l_.potrf(c.session.handle, c.session.params, kLower, rows_, type_.code(),
                            c.at(a_, i), rows_, type_.code(), c.work(), work_bytes_, c.host,
                            host_bytes_, c.info(i));
        });
    }
    Error factor_together(const Call &c) const {
        const int status = l_.potrf_batched[type_.index()](c.session.handle, kLower, int(rows_),
                                                           c.at<void *>(pointers_), int(rows_),
                                                           c.info(), int(c.count));
        return check(Part::kSolver, status, "potrfBatched");
    }

    Area pointers_;
    Compiled load_, store_;
};

class QrPlan final : public SolverPlan {
public:
    using SolverPlan::SolverPlan;

private:
    bool lay_out(const Session &s) override {
        const int code = type_.code();
        const int m = int(rows_), k = int(lesser_);
        size_t device = 0, host = 0;
        int size = 0;
        tau_ = elements(1, lesser_);
        return l_.geqrf_size(s.handle, s.params, rows_, columns_, code, nullptr, rows_, code,
                             nullptr, code, &device, &host) == 0 &&
               l_.orgqr_size[type_.index()](s.handle, m, k, k, nullptr, m, nullptr, &size) == 0 &&
               need_work(std::max(device, size_t(size) * type_.bytes()), host);
    }

    void compile(Device &device) override {
        load_ = load(device, kWholeMatrix, false);
        Storing how;
        how.is_complex = type_.is_complex, how.with_verdict = false;
        store_ = store(device, how);
        how.shape = kUpperTriangle;
        store_upper_ = store(device, how);
    }

    Error factor(const Call &c) const override {
        const Session &s = c.session;
        const int code = type_.code(), m = int(rows_), k = int(lesser_);
        INFINI_CUDA_TRY(c.move(load_, given_.x, a_, rows_));
        INFINI_CUDA_TRY(c.each("Xgeqrf", [&](int64_t i) {
            return l_.geqrf(s.handle, s.params, rows_, columns_, code, c.at(a_, i), rows_, code,
                            c.at(tau_, i), code, c.work(), work_bytes_, c.host, host_bytes_,
                            c.info(i));
        }));
        INFINI_CUDA_TRY(c.move(store_upper_, given_.z, a_, rows_));
        const int size = int(std::min<size_t>(work_bytes_ / type_.bytes(), INT32_MAX));
        INFINI_CUDA_TRY(c.each("orgqr", [&](int64_t i) {
            return l_.orgqr[type_.index()](s.handle, m, k, k, c.at(a_, i), m, c.at(tau_, i),
                                           c.work(), size, c.info(i));
        }));
        return c.move(store_, given_.y, a_, rows_);
    }

    Area tau_;
    Compiled load_, store_, store_upper_;
};

}  // namespace

Made make_cholesky(const Library &library, const SolverWork &work, bool is_batched) {
    return std::make_unique<CholeskyPlan>(library, work, is_batched);
}
Made make_qr(const Library &library, const SolverWork &work) {
    return std::make_unique<QrPlan>(library, work, false);
}

}  // namespace infini::cuda::solver
