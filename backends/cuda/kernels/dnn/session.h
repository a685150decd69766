// The vendor's library of neural-network primitives (cuDNN), shared by all callers.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace infini::cuda::dnn {

// The library does not support something; contains its reason.
struct Declined {
    std::string sentence;
};

// Whether the library is available, with the libraries that it depends on.
bool is_there();

// One per device, never destroyed. A handle has one stream and one thread at a time, so it is
// locked from setting the stream until the work is enqueued.
struct Session {
    int device = 0;
    std::mutex lock;
    void *handle = nullptr;

    // Only if available. Throws Declined.
    static Session &of(int device);

private:
    friend class Making;
    std::mutex makers_;
    std::condition_variable made_;
    std::set<std::string> begun_;
    std::vector<void *> spare_;
};

// Compilation by the library is slow. It uses an exclusive handle, so that no thread has to wait
// for it to run or to compile something else. Requests for the same kernel wait.
class Making {
public:
    Making(Session &session, const std::string &what);
    ~Making();
    Making(const Making &) = delete;

    void *handle();  // throws Declined

private:
    Session &session_;
    const std::string what_;
    void *handle_ = nullptr;
};

}  // namespace infini::cuda::dnn
