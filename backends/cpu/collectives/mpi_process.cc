#include "mpi_process.h"

#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace infini::cpu::collectives {
namespace {

// How long the end of a process waits for the others after a failure: they may never come.
constexpr std::chrono::seconds kPatienceAtTheEnd(3);

}  // namespace

// Never destroyed: MPI's own threads may outlive main().
MpiProcess &MpiProcess::get() {
    static auto *process = new MpiProcess;
    return *process;
}

MpiProcess *MpiProcess::start(double timeout, std::string *problem) {
    MpiProcess &self = get();
    std::unique_lock guard(self.lock_);
    if (self.state_ == kNew) {
        self.state_ = kStarting;
        pthread_atfork(nullptr, nullptr, [] { get().is_fork_ = true; });
        std::thread([&self] { self.keep(); }).detach();
    }
    auto decided = [&] { return self.state_ != kStarting; };
    if (timeout > 0)
        self.changed_.wait_for(guard, std::chrono::duration<double>(timeout), decided);
    else
        self.changed_.wait(guard, decided);
    if (self.state_ == kReady && self.is_usable()) return &self;
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%g", timeout);
    if (self.state_ == kStarting)
        *problem = std::string("MPI did not start within ") + seconds +
                   " s: every process of the MPI job has to join a communicator, or to start MPI";
    else if (self.state_ == kBroken)
        *problem = self.problem_;
    else
        *problem = "MPI has been ended in this process, or was started before a fork of it";
    return nullptr;
}

void MpiProcess::keep() {
    sigset_t all;  // signals are for the program's own threads
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    std::string problem;
    const bool works = library_.open(&problem) && begin(&problem);
    std::unique_lock guard(lock_);
    problem_ = problem;
    state_ = works ? kReady : kBroken;
    changed_.notify_all();
    if (!works || !is_ours_) return;
    on_exit([](int status, void *) { get().end(status); }, nullptr);
    changed_.wait(guard, [&] { return state_ == kEnding; });
    guard.unlock();
    if (is_alive()) library_.Finalize();
    guard.lock();
    state_ = kEnded;
    changed_.notify_all();
}

bool MpiProcess::begin(std::string *problem) {
    int initialized = 0, finalized = 0, provided = 0, is_set = 0;
    library_.Initialized(&initialized);
    library_.Finalized(&finalized);
    if (finalized) {
        *problem = "MPI has been ended in this process";
        return false;
    }
    is_ours_ = !initialized;
    int code = initialized ? library_.Query_thread(&provided)
                           : library_.Init_thread(nullptr, nullptr, library_.multiple, &provided);
    if (code == 0 && provided < library_.serialized) {
        *problem = "MPI was started without support for threads: MPI_THREAD_SERIALIZED is needed";
        return false;
    }
    one_at_a_time_ = provided < library_.multiple;
    // One of these is notified of events that belong to no communicator, such as a lost process.
    if (is_ours_ && code == 0)
        for (Handle of : {library_.world, library_.self})
            library_.Comm_set_errhandler(of, library_.errors_return);
    if (code == 0) code = library_.Comm_dup(library_.world, &comm_);
    if (code == 0) code = library_.Comm_set_errhandler(comm_, library_.errors_return);
    if (code == 0) code = library_.Comm_rank(comm_, &rank_);
    if (code == 0) code = library_.Comm_size(comm_, &ranks_);
    int *most_tags = nullptr;
    if (code == 0)
        code = library_.Comm_get_attr(comm_, library_.tag_limit_key, &most_tags, &is_set);
    if (code != 0) {
        *problem = "MPI cannot be started: " + library_.error_text(code);
        return false;
    }
    if (ranks_ == 1 && mpi_launched_processes() > 1) {
        *problem = library_.name + " finds no other process, but the launcher started " +
                   std::to_string(mpi_launched_processes()) +
                   ": it is not the launcher's MPI; name that one in INFINI_MPI_LIBRARY";
        return false;
    }
    // Each process numbers the communicators that it creates within its own range of tags.
    const int limit = is_set && most_tags ? *most_tags : 32767;
    channels_ = std::max(1, (limit - kFirstTag - 1) / 2 / ranks_);
    return true;
}

MpiProcess::Turn MpiProcess::turn() {
    Turn mine{std::shared_lock(open_), {}, false};
    mine.usable = !is_over_ && is_alive();
    if (one_at_a_time_) mine.only = std::unique_lock(turn_);
    return mine;
}

bool MpiProcess::is_alive() const {
    int finalized = 0;
    return !is_fork_ && library_.Finalized(&finalized) == 0 && !finalized;
}

// Sends the final message to ranks that have not received it, and receives theirs.
void MpiProcess::take_leave() {
    std::vector<Farewell> farewells;
    {
        std::lock_guard guard(posted_lock_);
        for (const Farewell *farewell : farewells_) farewells.push_back(*farewell);
    }
    for (const Farewell &farewell : farewells)
        for (int to : farewell.to)
            post(to, farewell.tag, farewell.message.data(), farewell.message.size());
    const auto deadline = std::chrono::steady_clock::now() + kPatienceAtTheEnd;
    for (Idling idling; std::chrono::steady_clock::now() < deadline; idling.pause()) {
        collect();
        std::lock_guard guard(posted_lock_);
        if (expected_.empty()) break;
    }
    unsigned char unread[kMostBytes];
    for (int tag : {kTableTag, kBroadcastTag})
        while (take(library_.any_source, tag, unread, sizeof unread)) continue;
}

void MpiProcess::end(int status) {
    if (!is_alive()) return;
    if (!has_lost_) take_leave();
    {
        std::unique_lock closing(
            open_);  // threads that still wait in a collective no longer use MPI
        is_over_ = true;
    }
    if (has_lost_) return;
    std::unique_lock guard(lock_);
    if (state_ != kReady) return;
    state_ = kEnding;
    changed_.notify_all();
    auto ended = [&] { return state_ == kEnded; };
    if (!failed_) {
        changed_.wait(guard, ended);
    } else if (!changed_.wait_for(guard, kPatienceAtTheEnd, ended)) {
        // The MPI thread is still inside MPI, whose libraries must not be unloaded.
        fflush(nullptr);
        _exit(status);
    }
}

int MpiProcess::new_channel() {
    std::lock_guard guard(lock_);
    return rank_ * channels_ + next_channel_++ % channels_;
}

void MpiProcess::post(int to, int tag, const void *data, size_t bytes) {
    std::lock_guard guard(posted_lock_);
    sweep();
    auto made = std::make_unique<Posted>();
    made->request = library_.null_request;
    made->data.resize(bytes);
    memcpy(made->data.data(), data, bytes);
    auto mine = turn();
    if (mine && library_.Isend(made->data.data(), int(bytes), library_.byte, to, tag, comm_,
                               &made->request) == 0)
        posted_.push_back(std::move(made));
}

void MpiProcess::sweep() {
    auto mine = turn();
    if (!mine) return;
    std::erase_if(posted_, [&](const auto &posted) {
        int done = 0;
        return library_.Test(&posted->request, &done, library_.status_ignore) != 0 || done;
    });
}

bool MpiProcess::take(int from, int tag, void *data, size_t bytes) {
    {
        std::lock_guard guard(posted_lock_);
        if (!posted_.empty()) sweep();
    }
    auto mine = turn();
    if (!mine) return false;
    int came = 0;
    Handle message = nullptr;
    if (library_.Improbe(from, tag, comm_, &came, &message, library_.status_ignore) != 0 || !came)
        return false;
    return library_.Mrecv(data, int(bytes), library_.byte, &message, library_.status_ignore) == 0;
}

void MpiProcess::expect(int tag, int messages) {
    std::lock_guard guard(posted_lock_);
    if (messages > 0) expected_[tag] += messages;
}

void MpiProcess::collect() {
    std::map<int, int> expected;
    {
        std::lock_guard guard(posted_lock_);
        expected.swap(expected_);
    }
    unsigned char unread[kMostBytes];
    for (auto &[tag, messages] : expected) {
        while (messages > 0 && take(library_.any_source, tag, unread, sizeof unread)) --messages;
        expect(tag, messages);
    }
}

void MpiProcess::add_farewell(const Farewell *farewell) {
    std::lock_guard guard(posted_lock_);
    farewells_.push_back(farewell);
}

void MpiProcess::remove_farewell(const Farewell *farewell) {
    std::lock_guard guard(posted_lock_);
    std::erase(farewells_, farewell);
}

void Idling::pause() {
    constexpr int64_t kMillisecond = 1'000'000;
    constexpr unsigned kSpins = 8;  // the rank that is waited for may need this core
    if (++rounds_ < kSpins) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
        return;
    }
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const int64_t now = time.tv_sec * 1000 * kMillisecond + time.tv_nsec;
    if (rounds_ == kSpins) began_ = now;
    // A large message progresses in parts that are invisible here, each of which needs a test.
    if (now - began_ < 20 * kMillisecond) {
        sched_yield();
        return;
    }
    const timespec moment{0, now - began_ < 1000 * kMillisecond ? 50'000 : 500'000};
    nanosleep(&moment, nullptr);
}

}  // namespace infini::cpu::collectives
