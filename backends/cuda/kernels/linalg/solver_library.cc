#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/linalg/solver_plan.h"

namespace infini::cuda::solver {
namespace {

constexpr size_t kMostHandles = 8;  // per device, before streams share one
constexpr int kMostSweeps = 400;    // of Jacobi's method

struct SessionPool {
    std::vector<Session> spare;
    size_t made = 0;
};

std::mutex pools_lock;

// Leaked: other threads may still call while the process exits.
SessionPool &pool_of(int device) {
    static auto &pools = *new std::map<int, SessionPool>;
    return pools[device];
}

// Tables of functions by type; real and complex functions may have different names.
template <class F>
void take_types(FunctionTable &table, F (&to)[4], const char *real, const char *complex,
                bool is_optional) {
    for (int i = 0; i < 4; ++i) {
        const std::string word = std::string(1, "SDCZ"[i]) + (i < 2 ? real : complex);
        is_optional ? table.take_optional(to[i], word.c_str()) : table.take(to[i], word.c_str());
    }
}

bool take_all(Library &l) {
    FunctionTable table(Part::kSolver);
    table.take(l.create, "Create"), table.take(l.set_stream, "SetStream");
    table.take(l.create_params, "CreateParams");
    table.take(l.getrf_size, "Xgetrf_bufferSize"), table.take(l.getrf, "Xgetrf");
    table.take(l.getrs, "Xgetrs");
    table.take(l.potrf_size, "Xpotrf_bufferSize"), table.take(l.potrf, "Xpotrf");
    table.take(l.geqrf_size, "Xgeqrf_bufferSize"), table.take(l.geqrf, "Xgeqrf");
    take_types(table, l.orgqr_size, "orgqr_bufferSize", "ungqr_bufferSize", false);
    take_types(table, l.orgqr, "orgqr", "ungqr", false);
    table.take(l.gesvd_size, "Xgesvd_bufferSize"), table.take(l.gesvd, "Xgesvd");
    table.take(l.syevd_size, "Xsyevd_bufferSize"), table.take(l.syevd, "Xsyevd");

    auto types = [&](auto &to, const char *word) { take_types(table, to, word, word, true); };
    types(l.potrf_batched, "potrfBatched");
    table.take_optional(l.create_jacobi, "CreateGesvdjInfo");
    table.take_optional(l.set_tolerance, "XgesvdjSetTolerance");
    table.take_optional(l.set_most_sweeps, "XgesvdjSetMaxSweeps");
    types(l.gesvdj_size, "gesvdj_bufferSize"), types(l.gesvdj, "gesvdj");
    types(l.gesvdj_batched_size, "gesvdjBatched_bufferSize");
    types(l.gesvdj_batched, "gesvdjBatched");
    table.take_optional(l.syev_batched_size, "XsyevBatched_bufferSize");
    table.take_optional(l.syev_batched, "XsyevBatched");
    return table.is_complete();
}

}  // namespace

const Library *Library::get() {
    static Library library{};
    static const bool is_complete = take_all(library);
    return is_complete ? &library : nullptr;
}

bool Library::has_jacobi(int index) const {
    return create_jacobi && set_tolerance && set_most_sweeps && gesvdj_size[index] &&
           gesvdj[index] && gesvdj_batched_size[index] && gesvdj_batched[index];
}

Borrowed::Borrowed(const Library &library, int device, void *stream) : device_(device) {
    {
        std::lock_guard guard(pools_lock);
        SessionPool &pool = pool_of(device);
        auto with = [&](void *one) {
            return std::find_if(pool.spare.begin(), pool.spare.end(),
                                [=](const Session &spare) { return spare.stream == one; });
        };
        auto found = with(stream);
        if (found == pool.spare.end()) found = with(kNoStream);
        const bool any = stream == kNoStream || pool.made >= kMostHandles;
        if (found == pool.spare.end() && any) found = pool.spare.begin();
        if (found != pool.spare.end()) {
            session_ = *found;
            pool.spare.erase(found);
        } else {
            ++pool.made;
        }
    }
    if (!session_.handle) {  // slow, so not under the lock
        use_device(device);
        status_ = make(library);
    }
    if (status_ || stream == kNoStream) return;
    word_ = "SetStream";
    status_ = library.set_stream(session_.handle, stream);
    session_.stream = stream;
}

int Borrowed::make(const Library &library) {
    word_ = "Create";
    if (const int status = library.create(&session_.handle)) return status;
    word_ = "CreateParams";
    if (const int status = library.create_params(&session_.params)) return status;
    if (!library.create_jacobi || !library.set_most_sweeps) return 0;
    word_ = "CreateGesvdjInfo";
    if (const int status = library.create_jacobi(&session_.jacobi)) return status;
    return library.set_most_sweeps(session_.jacobi, kMostSweeps);
}

Error Borrowed::error() const { return check(Part::kSolver, status_, word_); }

Borrowed::~Borrowed() {
    std::lock_guard guard(pools_lock);
    SessionPool &pool = pool_of(device_);
    if (!status_)
        pool.spare.push_back(session_);
    else
        --pool.made;
}

}  // namespace infini::cuda::solver
