#include "kernels/linalg/solver.h"

#include <algorithm>
#include <mutex>

#include "device/linalg/solver.cuh"
#include "kernels/linalg/solver_library.h"
#include "loaded.h"

namespace infini::cuda {
namespace {

using solver::Borrowed;
using Compiled = std::shared_ptr<const Kernel>;

constexpr int64_t kThreads = 256;
enum Triangle { kWhole, kLowerTriangle, kUpperTriangle };  // as in solver.cuh

// The library does one matrix after another, our own kernels do all at the same time, each slowly.
// On an H200 torch with the library, in float32, was this many times as fast for one matrix
// (n = 128, 512, 1024): det 1.8, 5, 13; inverse and solve 2.2, 10, 30; qr 1.9, 29, 90; svd 8, 31;
// cholesky 5, 42, 146. So the library is chosen for up to n / `share` matrices.
bool is_library_faster(Factorization what, const MatrixParams &x) {
    constexpr int64_t kLeast = 192;
    const int64_t n = std::min(x.rows, x.columns);
    if (n < kLeast) return false;
    int64_t share = 96;
    if (what == Factorization::kInverse || what == Factorization::kSolve) share = 64;
    if (what == Factorization::kQr) share = 48;
    if (what == Factorization::kCholesky) share = 24;
    return x.batch.count <= n / share;
}

class SolverPlan final : public Plan {
public:
    SolverPlan(const solver::Library &library, Factorization what, const BlockWork &work)
        : l_(library), what_(what), work_(work) {}

    // False: the library does not take this.
    bool prepare(Device &device) {
        const LinalgParams &p = work_.params;
        const int m = int(p.x.rows), n = int(p.x.columns), count = std::min(m, n);
        const Borrowed borrowed(l_, device.index, solver::kNoStream);
        const solver::Handle h = borrowed.handle();
        if (!h) return false;
        int more = 0;  // doubles of the library's own
        bool is_taken = false;
        status_ = room(3 * sizeof(int));
        pivots_ = room(size_t(n) * sizeof(int));
        a_ = doubles(m, n);
        switch (what_) {
            case Factorization::kSolve:
                sides_ = int(p.b.columns);
                [[fallthrough]];
            case Factorization::kInverse:
                if (what_ == Factorization::kInverse) sides_ = n;
                b_ = doubles(n, sides_);
                [[fallthrough]];
            case Factorization::kDet:
            case Factorization::kSlogdet:
            case Factorization::kLogdet:
                is_taken = l_.getrf_size(h, n, n, nullptr, n, &work_size_) == 0;
                break;
            case Factorization::kCholesky:
                is_taken = l_.potrf_size(h, solver::kLower, n, nullptr, n, &work_size_) == 0;
                break;
            case Factorization::kQr:
                b_ = doubles(1, count);
                is_taken = l_.geqrf_size(h, m, n, nullptr, m, &work_size_) == 0 &&
                           l_.orgqr_size(h, m, count, count, nullptr, m, nullptr, &more) == 0;
                work_size_ = std::max(work_size_, more);
                break;
            case Factorization::kSvd:
                b_ = doubles(1, n), c_ = doubles(m, n), d_ = doubles(n, n);
                is_taken = l_.gesvd_size(h, m, n, &work_size_) == 0;
                break;
            case Factorization::kEigh:
                b_ = doubles(1, n);
                is_taken = l_.syevd_size(h, solver::kWithVectors, solver::kLower, n, nullptr, n,
                                         nullptr, &work_size_) == 0;
                break;
        }
        memory_ = doubles(1, work_size_);
        workspace = std::max(workspace, size_t(round_up(work_.doubles, 32)) * sizeof(double));
        if (is_taken) compile(device);
        return is_taken;
    }

    Error run(const Arguments &arguments, const Stream &stream) const override {
        // The library may wait for the device.
        if (is_capturing(stream.device.index, stream.handle)) return run_own(arguments, stream);
        OutsideCapture outside;  // of another thread's
        const Borrowed borrowed(l_, stream.device.index, stream.handle);
        INFINI_CUDA_TRY(borrowed.error());
        Call call{*this, stream, borrowed.handle(), arguments.workspace(),
                  work_.with_data(arguments)};
        for (call.index = 0; call.index < work_.params.x.batch.count; ++call.index)
            INFINI_CUDA_TRY(call.run());
        return infinirtSuccess;
    }

private:
    struct Call {
        const SolverPlan &plan;
        const Stream &stream;
        const solver::Handle handle;
        char *const memory;
        const LinalgParams p;
        int64_t index = 0;

        double *at(size_t offset) const { return reinterpret_cast<double *>(memory + offset); }
        int *numbers(size_t offset) const { return reinterpret_cast<int *>(memory + offset); }
        double *a() const { return at(plan.a_); }
        double *b() const { return at(plan.b_); }
        double *work() const { return at(plan.memory_); }
        int *pivots() const { return numbers(plan.pivots_); }
        int *verdict(int i) const { return numbers(plan.status_) + i; }

        SolverParams params(const MatrixParams &m, double *columns, int64_t lead) const {
            SolverParams made = {};
            made.m = m, made.z = p.z, made.index = index;
            made.columns = columns, made.lead = lead;
            made.status = numbers(plan.status_), made.pivots = pivots(), made.least = p.least;
            return made;
        }
        Error move(const Compiled &kernel, const MatrixParams &m, double *columns,
                   int64_t lead) const {
            const int64_t blocks = stream.device.blocks_for(m.rows * m.columns, kThreads);
            return kernel->launch(stream, blocks, kThreads, params(m, columns, lead));
        }
        Error inspect_diagonal() const {
            return plan.diagonal_->launch(stream, 1, kThreads, params(p.y, a(), p.x.rows));
        }

        Error run() const {
            INFINI_CUDA_TRY(fill_bytes(stream, memory + plan.status_, 0, 3 * sizeof(int)));
            INFINI_CUDA_TRY(move(plan.load_, p.x, a(), p.x.rows));
            switch (plan.what_) {
                case Factorization::kCholesky:
                    return run_cholesky();
                case Factorization::kQr:
                    return run_qr();
                case Factorization::kSvd:
                    return run_svd();
                case Factorization::kEigh:
                    return run_eigh();
                default:
                    return run_lu();
            }
        }
        Error run_lu() const {
            const solver::Library &l = plan.l_;
            const int n = int(p.x.rows);
            INFINI_CUDA_TRY(check(Part::kSolver,
                                  l.getrf(handle, n, n, a(), n, work(), pivots(), verdict(1)),
                                  "Dgetrf"));
            INFINI_CUDA_TRY(inspect_diagonal());
            if (!plan.load_sides_) return infinirtSuccess;  // it was a determinant
            const bool is_inverse = plan.what_ == Factorization::kInverse;
            INFINI_CUDA_TRY(move(plan.load_sides_, is_inverse ? p.x : p.b, b(), n));
            INFINI_CUDA_TRY(check(Part::kSolver,
                                  l.getrs(handle, solver::kAsIs, n, plan.sides_, a(), n, pivots(),
                                          b(), n, verdict(2)),
                                  "Dgetrs"));
            return move(plan.store_, p.y, b(), n);
        }
        Error run_cholesky() const {
            const int n = int(p.x.rows);
            INFINI_CUDA_TRY(check(Part::kSolver,
                                  plan.l_.potrf(handle, solver::kLower, n, a(), n, work(),
                                                plan.work_size_, verdict(1)),
                                  "Dpotrf"));
            INFINI_CUDA_TRY(inspect_diagonal());
            return move(plan.store_, p.y, a(), n);
        }
        Error run_qr() const {
            const solver::Library &l = plan.l_;
            const int m = int(p.x.rows), n = int(p.x.columns), count = std::min(m, n);
            INFINI_CUDA_TRY(check(
                Part::kSolver,
                l.geqrf(handle, m, n, a(), m, b(), work(), plan.work_size_, verdict(1)), "Dgeqrf"));
            INFINI_CUDA_TRY(move(plan.store_upper_, p.z, a(), m));
            INFINI_CUDA_TRY(check(
                Part::kSolver,
                l.orgqr(handle, m, count, count, a(), m, b(), work(), plan.work_size_, verdict(2)),
                "Dorgqr"));
            return move(plan.store_, p.y, a(), m);
        }
        Error run_svd() const {
            const int m = int(p.x.rows), n = int(p.x.columns);
            double *u = at(plan.c_), *vt = at(plan.d_);
            INFINI_CUDA_TRY(
                check(Part::kSolver,
                      plan.l_.gesvd(handle, solver::kEconomy, solver::kEconomy, m, n, a(), m, b(),
                                    u, m, vt, n, work(), plan.work_size_, nullptr, verdict(1)),
                      "Dgesvd"));
            INFINI_CUDA_TRY(move(plan.store_, p.y, u, m));
            INFINI_CUDA_TRY(move(plan.store_, p.z, b(), 1));
            return move(plan.store_, p.w, vt, n);
        }
        Error run_eigh() const {
            const int n = int(p.x.rows);
            INFINI_CUDA_TRY(check(Part::kSolver,
                                  plan.l_.syevd(handle, solver::kWithVectors, solver::kLower, n,
                                                a(), n, b(), work(), plan.work_size_, verdict(1)),
                                  "Dsyevd"));
            INFINI_CUDA_TRY(move(plan.store_, p.y, b(), 1));
            return move(plan.store_, transposed(p.z), a(), n);  // our own kernel makes rows
        }
    };

    size_t room(size_t bytes) {
        const size_t offset = workspace;
        workspace += size_t(round_up(int64_t(bytes), 256));
        return offset;
    }
    size_t doubles(int64_t rows, int64_t columns) {
        return room(size_t(rows * columns) * sizeof(double));
    }

    void compile(Device &device) {
        auto made = [&](const char *file, auto... constants) {
            Source source(file);
            source.type("T", work_.dtype).constant("kThreads", kThreads);
            (source.constant(constants.first, constants.second), ...);
            return device.compile(source);
        };
        using Constant = std::pair<const char *, int64_t>;
        auto load = [&](int triangle, bool finite) {
            return made("linalg/solver.cuh:load", Constant("kTriangle", triangle),
                        Constant("kFinite", finite));
        };
        auto store = [&](int triangle) {
            return made("linalg/solver.cuh:store", Constant("kTriangle", triangle));
        };
        const bool is_symmetric =
            what_ == Factorization::kCholesky || what_ == Factorization::kEigh;
        const bool finite = what_ != Factorization::kCholesky && what_ != Factorization::kQr;
        load_ = load(is_symmetric ? kLowerTriangle : kWhole, finite);
        if (what_ <= Factorization::kCholesky)
            diagonal_ =
                made("linalg/solver.cuh:diagonal", Constant("kResult", std::min(int(what_), 3)));
        if (what_ == Factorization::kInverse) load_sides_ = made("linalg/solver.cuh:identity");
        if (what_ == Factorization::kSolve) load_sides_ = load(kWhole, false);
        if (what_ == Factorization::kQr) store_upper_ = store(kUpperTriangle);
        if (what_ >= Factorization::kInverse)
            store_ = store(what_ == Factorization::kCholesky ? kLowerTriangle : kWhole);
    }

    // Made when it is first needed: nobody waits for its compilation otherwise.
    Error run_own(const Arguments &arguments, const Stream &stream) const try {
        {
            std::lock_guard guard(own_lock_);
            if (!own_) {
                OutsideCapture outside;
                CompileTogether kernels;
                auto made = plan_blocks(stream.device, work_, workspace);
                kernels.finish();
                own_ = std::move(made);
            }
        }
        return own_->run(arguments, stream);
    } catch (const Refusal &refusal) {
        return fail(infinirtErrorInvalidValue, "%s", refusal.sentence.c_str());
    }

    const solver::Library &l_;
    const Factorization what_;
    const BlockWork work_;
    int sides_ = 0, work_size_ = 0;
    // Offsets in the workspace. b: right-hand sides, tau, or values; c and d: singular vectors.
    size_t status_ = 0, pivots_ = 0, a_ = 0, b_ = 0, c_ = 0, d_ = 0, memory_ = 0;
    Compiled load_, load_sides_, diagonal_, store_, store_upper_;
    mutable std::mutex own_lock_;
    mutable std::unique_ptr<Plan> own_;
};

}  // namespace

std::unique_ptr<Plan> plan_solver(Device &device, Factorization what, const BlockWork &work) {
    const LinalgParams &p = work.params;
    constexpr int64_t kMost = 16384;  // above, the library's workspaces leave 32 bits
    const int64_t sides = what == Factorization::kSolve ? p.b.columns : 1;
    const int64_t largest = std::max({p.x.rows, p.x.columns, sides});
    const bool is_empty = p.x.batch.count == 0 || sides == 0;
    if (is_empty || largest > kMost || !is_library_faster(what, p.x)) return nullptr;
    const solver::Library *library = solver::Library::get();
    if (!library) return nullptr;
    auto plan = std::make_unique<SolverPlan>(*library, what, work);
    return plan->prepare(device) ? std::move(plan) : nullptr;
}

}  // namespace infini::cuda
