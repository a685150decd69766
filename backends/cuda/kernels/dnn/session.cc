#include "kernels/dnn/session.h"

#include <map>

#include "libraries.h"

namespace infini::cuda::dnn {
namespace {

void *new_handle(int device) {
    static const auto create = function<int (*)(void **)>(Part::kDnn, "Create");
    void *handle = nullptr;
    use_device(device);
    const int status = create ? create(&handle) : -1;
    if (status != 0) throw Declined{"a handle: status " + std::to_string(status)};
    return handle;
}

}  // namespace

// The library opens the compiler and the matrix library by their plain names, and aborts if the
// loader does not find them. They are found if they are already loaded.
bool is_there() {
    static const bool there = [] {
        const auto toolkit = function<size_t (*)()>(Part::kDnn, "GetCudartVersion");
        return toolkit && hold(Part::kCompiler, int(toolkit() / 1000)) &&
               hold(Part::kBlas, int(toolkit() / 1000));
    }();
    return there;
}

Session &Session::of(int device) {
    static std::mutex lock;
    static auto &sessions = *new std::map<int, Session>;
    std::lock_guard guard(lock);
    Session &session = sessions[device];
    session.device = device;
    if (!session.handle) session.handle = new_handle(device);
    return session;
}

Making::Making(Session &session, const std::string &what) : session_(session), what_(what) {
    std::unique_lock guard(session.makers_);
    session.made_.wait(guard, [&] { return session.begun_.insert(what).second; });
}

void *Making::handle() {
    if (handle_) return handle_;
    if (std::lock_guard guard(session_.makers_); !session_.spare_.empty()) {
        handle_ = session_.spare_.back();
        session_.spare_.pop_back();
    }
    if (!handle_) handle_ = new_handle(session_.device);  // slow, so not under the lock
    return handle_;
}

Making::~Making() {
    {
        std::lock_guard guard(session_.makers_);
        session_.begun_.erase(what_);
        if (handle_) session_.spare_.push_back(handle_);
    }
    session_.made_.notify_all();
}

}  // namespace infini::cuda::dnn
