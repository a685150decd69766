// Singular values, eigenvalues and their vectors, by the vendor's library.
#include "kernels/linalg/solver_plan.h"

namespace infini::cuda::solver {
namespace {

// By Jacobi's method, which returns V; if it does not converge or is missing, by the QR algorithm,
// which returns V^H.
class SvdPlan final : public SolverPlan {
public:
    SvdPlan(const Library &library, const SolverWork &work, bool is_batched)
        : SolverPlan(library, work, is_batched), has_jacobi_(library.has_jacobi(type_.index())) {}

private:
    int m() const { return int(rows_); }
    int n() const { return int(columns_); }
    size_t jacobi_bytes() const { return size_t(jacobi_size_) * type_.bytes(); }

    bool lay_out(const Session &s) override {
        values_ = reals(columns_), v_ = elements(columns_, columns_);
        // Batched functions compute all of U, though only the first columns are needed.
        u_ = elements(rows_, is_batched_ ? rows_ : columns_);
        const int index = type_.index();
        if (is_batched_)
            return l_.gesvdj_batched_size[index](s.handle, kWithVectors, m(), n(), nullptr, m(),
                                                 nullptr, nullptr, m(), nullptr, n(), &jacobi_size_,
                                                 s.jacobi, int(count_)) == 0 &&
                   need_work(jacobi_bytes(), 0);
        if (has_jacobi_ && l_.gesvdj_size[index](s.handle, kWithVectors, kEconomySize, m(), n(),
                                                 nullptr, m(), nullptr, nullptr, m(), nullptr, n(),
                                                 &jacobi_size_, s.jacobi) != 0)
            return false;
        size_t device = 0, host = 0;
        const int code = type_.code();
        return need_work(jacobi_bytes(), 0) &&
               l_.gesvd_size(s.handle, s.params, kEconomy, kEconomy, rows_, columns_, code, nullptr,
                             rows_, type_.real_code(), nullptr, code, nullptr, rows_, code, nullptr,
                             columns_, code, &device, &host) == 0 &&
               need_work(device, host);
    }

    void compile(Device &device) override {
        load_ = load(device, kWholeMatrix, true);
        Storing how;
        // When Jacobi's method stops early, its result is still the best approximation.
        how.with_verdict = !is_batched_;
        store_values_ = store(device, how);
        how.is_complex = type_.is_complex;
        store_ = store(device, how);
        how.conjugates = type_.is_complex;
        store_conjugate_ = store(device, how);
    }

    Error factor(const Call &c) const override {
        bool is_adjoint = !has_jacobi_;  // v contains V^H
        INFINI_CUDA_TRY(c.move(load_, given_.x, a_, rows_));
        if (has_jacobi_) {
            const double eps = type_.is_double ? 0x1p-52 : 0x1p-23;
            INFINI_CUDA_TRY(check(Part::kSolver, l_.set_tolerance(c.session.jacobi, eps),
                                  "XgesvdjSetTolerance"));
            INFINI_CUDA_TRY(is_batched_ ? factor_together(c) : factor_each(c, &is_adjoint));
        }
        if (is_adjoint) INFINI_CUDA_TRY(factor_by_qr(c));
        INFINI_CUDA_TRY(c.move(store_, given_.y, u_, rows_));
        INFINI_CUDA_TRY(c.move(store_values_, given_.z, values_, 1));
        if (is_adjoint) return c.move(store_, given_.w, v_, columns_);
        return c.move(store_conjugate_, transposed(given_.w), v_, columns_);
    }
    Error factor_together(const Call &c) const {
        const int status = l_.gesvdj_batched[type_.index()](
            c.session.handle, kWithVectors, m(), n(), c.at(a_), m(), c.at(values_), c.at(u_), m(),
            c.at(v_), n(), c.work(), jacobi_size_, c.info(), c.session.jacobi, int(c.count));
        return check(Part::kSolver, status, "gesvdjBatched");
    }
    // Waits, as the library does for every matrix, to check whether all converged; if one has not,
    // all are loaded again.
    Error factor_each(const Call &c, bool *is_failed) const {
        INFINI_CUDA_TRY(c.each("gesvdj", [&](int64_t i) {
            return l_.gesvdj[type_.index()](c.session.handle, kWithVectors, kEconomySize, m(), n(),
                                            c.at(a_, i), m(), c.at(values_, i), c.at(u_, i), m(),
                                            c.at(v_, i), n(), c.work(), jacobi_size_, c.info(i),
                                            c.session.jacobi);
        }));
        std::vector<int> verdicts(size_t(c.count));
        INFINI_CUDA_TRY(
            copy_bytes(c.stream, verdicts.data(), c.info(), verdicts.size() * sizeof(int)));
        INFINI_CUDA_TRY(wait(c.stream));
        for (const int verdict : verdicts) *is_failed = *is_failed || verdict != 0;
        return *is_failed ? c.move(load_, given_.x, a_, rows_) : infinirtSuccess;
    }
    Error factor_by_qr(const Call &c) const {
        const int code = type_.code();
        return c.each("Xgesvd", [&](int64_t i) {
            return l_.gesvd(c.session.handle, c.session.params, kEconomy, kEconomy, rows_, columns_,
                            code, c.at(a_, i), rows_, type_.real_code(), c.at(values_, i), code,
                            c.at(u_, i), rows_, code, c.at(v_, i), columns_, code, c.work(),
                            work_bytes_, c.host, host_bytes_, c.info(i));
        });
    }

    const bool has_jacobi_;
    int jacobi_size_ = 0;  // elements of the library's workspace
    Area values_, u_, v_;
    Compiled load_, store_, store_values_, store_conjugate_;
};

class EighPlan final : public SolverPlan {
public:
    using SolverPlan::SolverPlan;

private:
    bool lay_out(const Session &s) override {
        values_ = reals(columns_);
        const int code = type_.code(), real = type_.real_code();
        size_t device = 0, host = 0;
        const int status =
            is_batched_
                ? l_.syev_batched_size(s.handle, s.params, kWithVectors, kLower, rows_, code,
                                       nullptr, rows_, real, nullptr, code, &device, &host, count_)
                : l_.syevd_size(s.handle, s.params, kWithVectors, kLower, rows_, code, nullptr,
                                rows_, real, nullptr, code, &device, &host);
        return status == 0 && need_work(device, host);
    }

    void compile(Device &device) override {
        load_ = load(device, kLowerTriangle, true);
        Storing how;
        store_values_ = store(device, how);
        how.is_complex = type_.is_complex;
        store_ = store(device, how);
    }

    Error factor(const Call &c) const override {
        INFINI_CUDA_TRY(c.move(load_, given_.x, a_, rows_));
        INFINI_CUDA_TRY(is_batched_ ? factor_together(c) : factor_each(c));
        INFINI_CUDA_TRY(c.move(store_values_, given_.y, values_, 1));
        return c.move(store_, given_.z, a_, rows_);
    }
    Error factor_each(const Call &c) const {
        const int code = type_.code(), real = type_.real_code();
        return c.each("Xsyevd", [&](int64_t i) {
            return l_.syevd(c.session.handle, c.session.params, kWithVectors, kLower, rows_, code,
                            c.at(a_, i), rows_, real, c.at(values_, i), code, c.work(), work_bytes_,
                            c.host, host_bytes_, c.info(i));
        });
    }
    Error factor_together(const Call &c) const {
        const int code = type_.code(), real = type_.real_code();
        const int status =
            l_.syev_batched(c.session.handle, c.session.params, kWithVectors, kLower, rows_, code,
                            c.at(a_), rows_, real, c.at(values_), code, c.work(), work_bytes_,
                            c.host, host_bytes_, c.info(), c.count);
        return check(Part::kSolver, status, "XsyevBatched");
    }

    Area values_;
    Compiled load_, store_, store_values_;
};

}  // namespace

Made make_svd(const Library &library, const SolverWork &work, bool is_batched) {
    return std::make_unique<SvdPlan>(library, work, is_batched);
}
Made make_eigh(const Library &library, const SolverWork &work, bool is_batched) {
    return std::make_unique<EighPlan>(library, work, is_batched);
}

}  // namespace infini::cuda::solver
