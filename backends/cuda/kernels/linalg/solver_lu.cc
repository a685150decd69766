// LU factorization by the vendor's library, for determinants, inverses and linear equations.
#include "kernels/linalg/solver_plan.h"

namespace infini::cuda::solver {
namespace {

class LuPlan final : public SolverPlan {
public:
    LuPlan(const Library &library, const SolverWork &work)
        : SolverPlan(library, work, false), what_(work.what) {}

private:
    bool is_determinant() const { return what_ <= Factorization::kLogdet; }
    bool is_solved() const {
        return what_ == Factorization::kInverse || what_ == Factorization::kSolve;
    }
    const SolverOperand &sides() const {
        return what_ == Factorization::kSolve ? given_.b : given_.y;
    }

    bool lay_out(const Session &s) override {
        size_t device = 0, host = 0;
        pivots_ = area(size_t(lesser_) * sizeof(int64_t));
        if (is_solved()) b_ = elements(rows_, sides().shape().columns), solved_ = area(sizeof(int));
        return l_.getrf_size(s.handle, s.params, rows_, columns_, type_.code(), nullptr, rows_,
                             type_.code(), &device, &host) == 0 &&
               need_work(device, host);
    }

    void compile(Device &device) override {
        load_ = load(device, kWholeMatrix, true);
        if (is_determinant()) {
            finish_ = device.compile(
                source("linalg/solver.cuh:determinant", false).constant("kResult", int(what_)));
            return;
        }
        if (what_ == Factorization::kLu)
            finish_ = device.compile(source("linalg/solver.cuh:pivots", false));
        if (what_ == Factorization::kInverse)
            load_sides_ = device.compile(source("linalg/solver.cuh:identity", type_.is_complex));
        if (what_ == Factorization::kSolve) load_sides_ = load(device, kWholeMatrix, false);
        Storing how;
        how.is_complex = type_.is_complex, how.with_verdict = is_solved();
        store_ = store(device, how);
    }

    Error factor(const Call &c) const override {
        const Session &s = c.session;
        const int code = type_.code();
        INFINI_CUDA_TRY(c.move(load_, given_.x, a_, rows_));
        INFINI_CUDA_TRY(c.each("Xgetrf", [&](int64_t i) {
            return l_.getrf(s.handle, s.params, rows_, columns_, code, c.at(a_, i), rows_,
                            c.at<int64_t>(pivots_, i), code, c.work(), work_bytes_, c.host,
                            host_bytes_, c.info(i));
        }));
        if (is_determinant()) return store_determinants(c);
        if (what_ == Factorization::kLu) {
            SolverParams p = c.params(given_.z, pivots_, 1);
            p.pivots = c.at<int64_t>(pivots_);
            INFINI_CUDA_TRY(c.launch(finish_, p));
            return c.move(store_, given_.y, a_, rows_);
        }
        INFINI_CUDA_TRY(c.move(load_sides_, sides(), b_, rows_));
        INFINI_CUDA_TRY(c.each("Xgetrs", [&](int64_t i) {
            return l_.getrs(s.handle, s.params, kAsIs, rows_, sides().shape().columns, code,
                            c.at(a_, i), rows_, c.at<int64_t>(pivots_, i), code, c.at(b_, i), rows_,
                            c.at<int>(solved_, i));
        }));
        return c.move(store_, given_.y, b_, rows_);
    }

    Error store_determinants(const Call &c) const {
        SolverParams p = c.params(given_.y, a_, rows_);
        p.z = given_.z.shape(), p.pivots = c.at<int64_t>(pivots_);
        if (given_.z.pointer[0] >= 0) p.z.data = c.arguments.pointer<void>(given_.z.pointer[0]);
        return finish_->launch(c.stream, c.count, kSolverThreads, p);
    }

    const Factorization what_;
    Area pivots_, b_, solved_;  // b: right-hand sides; solved: a status that is not used
    Compiled load_, load_sides_, store_, finish_;
};

}  // namespace

Made make_lu(const Library &library, const SolverWork &work) {
    return std::make_unique<LuPlan>(library, work);
}

}  // namespace infini::cuda::solver
