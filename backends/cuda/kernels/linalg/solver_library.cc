#include "kernels/linalg/solver_library.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace infini::cuda::solver {
namespace {

constexpr size_t kMostHandles = 8;  // of a device, before one changes streams

struct Spare {
    Handle handle;
    void *stream;
};
struct HandlePool {
    std::vector<Spare> spare;
    size_t made = 0;
};

std::mutex pools_lock;

// Leaked: other threads may still call while the process exits.
HandlePool &pool_of(int device) {
    static auto &pools = *new std::map<int, HandlePool>;
    return pools[device];
}

}  // namespace

const Library *Library::get() {
    static const auto found = [] {
        struct Found {
            Library library{};
            bool complete = true;
        } found;
        auto take = [&](auto &to, const char *word) {
            to = function<std::remove_reference_t<decltype(to)>>(Part::kSolver, word);
            found.complete = found.complete && to;
        };
        Library &l = found.library;
        take(l.create, "Create"), take(l.set_stream, "SetStream");
        take(l.getrf_size, "Dgetrf_bufferSize"), take(l.getrf, "Dgetrf");
        take(l.getrs, "Dgetrs");
        take(l.potrf_size, "Dpotrf_bufferSize"), take(l.potrf, "Dpotrf");
        take(l.geqrf_size, "Dgeqrf_bufferSize"), take(l.geqrf, "Dgeqrf");
        take(l.orgqr_size, "Dorgqr_bufferSize"), take(l.orgqr, "Dorgqr");
        take(l.gesvd_size, "Dgesvd_bufferSize"), take(l.gesvd, "Dgesvd");
        take(l.syevd_size, "Dsyevd_bufferSize"), take(l.syevd, "Dsyevd");
        return found;
    }();
    return found.complete ? &found.library : nullptr;
}

Borrowed::Borrowed(const Library &library, int device, void *stream)
    : device_(device), stream_(stream) {
    {
        std::lock_guard guard(pools_lock);
        HandlePool &pool = pool_of(device);
        auto with = [&](void *one) {
            return std::find_if(pool.spare.begin(), pool.spare.end(),
                                [=](const Spare &spare) { return spare.stream == one; });
        };
        auto found = with(stream);
        if (found == pool.spare.end()) found = with(kNoStream);
        const bool any = stream == kNoStream || pool.made >= kMostHandles;
        if (found == pool.spare.end() && any) found = pool.spare.begin();
        if (found != pool.spare.end()) {
            handle_ = found->handle;
            if (stream == kNoStream) stream_ = found->stream;
            pool.spare.erase(found);
        } else {
            ++pool.made;
        }
    }
    if (!handle_) {  // takes long: others need not wait for it
        use_device(device);
        created_ = library.create(&handle_);
    }
    if (created_ == 0 && stream != kNoStream) bound_ = library.set_stream(handle_, stream);
    if (created_ != 0 || bound_ != 0) handle_ = nullptr;
}

Error Borrowed::error() const {
    return created_ ? check(Part::kSolver, created_, "Create")
                    : check(Part::kSolver, bound_, "SetStream");
}

Borrowed::~Borrowed() {
    std::lock_guard guard(pools_lock);
    HandlePool &pool = pool_of(device_);
    if (handle_)
        pool.spare.push_back({handle_, stream_});
    else
        --pool.made;
}

}  // namespace infini::cuda::solver
