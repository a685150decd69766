// The vendor's library of neural-network primitives (cuDNN), as all share it that call it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace infini::cuda::dnn {

// The library does not take something: why, in its words.
struct Declined {
    std::string sentence;
};

// Whether it is there, with the libraries that it needs itself.
bool is_there();

// One for each device, as long as the process runs. A handle has one stream at a time, and one
// thread: it is locked from setting the stream until the work is enqueued.
struct Session {
    int device = 0;
    std::mutex lock;
    void *handle = nullptr;

    // Where it is there. Throws Declined.
    static Session &of(int device);

private:
    friend class Making;
    std::mutex makers_;
    std::condition_variable made_;
    std::set<std::string> begun_;
    std::vector<void *> spare_;
};

// The library compiles, which takes long: with a handle that no other thread has, so that none
// waits for it to run something, or to make something else. Whoever wants the same waits.
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
