#include "kernels/linalg/solver.h"

#include <algorithm>

#include "kernels/linalg/solver_plan.h"

namespace infini::cuda {
namespace {

using solver::Library;

enum class Way { kOwn, kEach, kTogether };

// Most library functions process one matrix after another; our own kernels process all in parallel,
// each slowly. The library is used from `least` rows and columns on, for up to n / `share`
// matrices. Some functions are batched.
//
// Times in microseconds on an H200. torch with the library, one matrix of 32, 256 and 1024: det
// 116, 417, 2040; qr 112, 778, 4600; cholesky 59, 120, 412; svd 284, 6470; eigh 300, 2220; eig
// 2600, 54000; complex det 124, 473, 2440; complex qr 125, 909, 5310. Our own kernels: det 79; qr
// 140; svd 1660; eigh 1040; eig 3300, 450000; complex det 123, 7350, 423000; complex qr 224, 24200,
// 1300000. Our own for 1000 matrices of 8: cholesky 15, svd 250 (torch: 500), eigh 110 (138).
class Choice {
public:
    Choice(const Library &library, const SolverWork &work)
        : l_(library),
          index_(solver::ElementType{work.dtype == INFINI_DTYPE_F64, work.is_complex}.index()),
          is_complex_(work.is_complex),
          rows_(work.x.shape().rows),
          n_(std::min(rows_, work.x.shape().columns)),
          batch_(work.x.shape().batch.count) {}

    Way of(Factorization what) const {
        switch (what) {
            case Factorization::kInverse:
            case Factorization::kSolve:
                return is_complex_ ? each(24, 16) : each(64, 64);
            case Factorization::kCholesky:
                return of_cholesky();
            case Factorization::kQr:
                return is_complex_ ? each(48, 16) : each(96, 48);
            case Factorization::kSvd:
                return of_svd();
            case Factorization::kEigh:
                return of_eigh();
            case Factorization::kEig:
                return Way::kOwn;  // Xgeev of CUDA 13.0 occasionally fails or crashes
            default:
                return is_complex_ ? each(64, 32) : each(96, 96);
        }
    }

private:
    Way each(int64_t least, int64_t share) const {
        const bool is_few = batch_ <= std::max<int64_t>(1, n_ / share);
        return n_ >= least && is_few ? Way::kEach : Way::kOwn;
    }
    Way of_cholesky() const {
        if (n_ < 24) return Way::kOwn;
        if (batch_ == 1 || !l_.potrf_batched[index_]) return each(is_complex_ ? 24 : 64, 24);
        return each(192, 24) == Way::kEach ? Way::kEach : Way::kTogether;
    }
    Way of_svd() const {
        if (!l_.has_jacobi(index_)) return each(192, 96);
        if (rows_ > solver::kLargestJacobi) return each(13, 24);
        return n_ > 24 || (n_ > 12 && batch_ <= 256) ? Way::kTogether : Way::kOwn;
    }
    Way of_eigh() const {
        if (n_ <= 12) return Way::kOwn;
        if (!l_.syev_batched || !l_.syev_batched_size) return each(is_complex_ ? 13 : 128, 64);
        return batch_ == 1 || n_ > 512 ? Way::kEach : Way::kTogether;
    }

    const Library &l_;
    const int index_;
    const bool is_complex_;
    const int64_t rows_, n_, batch_;
};

solver::Made make(const Library &library, const SolverWork &work, Way way) {
    const bool together = way == Way::kTogether;
    switch (work.what) {
        case Factorization::kCholesky:
            return solver::make_cholesky(library, work, together);
        case Factorization::kQr:
            return solver::make_qr(library, work);
        case Factorization::kSvd:
            return solver::make_svd(library, work, together);
        case Factorization::kEigh:
            return solver::make_eigh(library, work, together);
        default:
            return solver::make_lu(library, work);
    }
}

}  // namespace

std::unique_ptr<Plan> plan_solver(Device &device, const SolverWork &work) {
    const MatrixParams &x = work.x.shape();
    constexpr int64_t kMost = 16384;  // above this, some workspace sizes overflow 32 bits
    const int64_t sides = work.what == Factorization::kSolve ? work.b.shape().columns : 1;
    const int64_t largest = std::max({x.rows, x.columns, sides});
    const bool is_empty = x.batch.count == 0 || x.rows == 0 || x.columns == 0 || sides == 0;
    if (is_empty || largest > kMost) return nullptr;
    const Library *library = Library::get();
    if (!library) return nullptr;
    const Way way = Choice(*library, work).of(work.what);
    if (way == Way::kOwn) return nullptr;
    solver::Made plan = make(*library, work, way);
    return plan->prepare(device) ? std::move(plan) : nullptr;
}

std::unique_ptr<Plan> plan_solver_or_blocks(Device &device, Factorization what,
                                            const BlockWork &work) {
    const LinalgParams &p = work.params;
    SolverWork made{what, work.dtype};
    auto operand = [&](MatrixParams LinalgParams::*member) {
        for (const Operand &one : work.operands)
            if (one.member == member) return SolverOperand(p.*member, one.pointer);
        return SolverOperand();
    };
    made.x = operand(&LinalgParams::x), made.b = operand(&LinalgParams::b);
    made.y = operand(&LinalgParams::y), made.z = operand(&LinalgParams::z);
    made.w = operand(&LinalgParams::w);
    if (what == Factorization::kEigh) made.z = transposed(made.z);  // our own kernel stores rows
    made.least = p.least;
    made.own_bytes = size_t(round_up(work.doubles, 32)) * sizeof(double);
    made.own = [=](Device &on, size_t most_bytes) { return plan_blocks(on, work, most_bytes); };
    if (auto plan = plan_solver(device, made)) return plan;
    return plan_blocks(device, work);
}

}  // namespace infini::cuda
