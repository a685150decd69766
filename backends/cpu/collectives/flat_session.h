// The state of an operation over links: its pending messages, and waiting for them without ever
// hanging.
#pragma once

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "links.h"
#include "world.h"

namespace infini::cpu::collectives {

constexpr size_t kEager = 32 << 10;   // bytes sent with the opening of an operation
constexpr size_t kWhole = 256 << 10;  // bytes of a reduction chunk
// A root does not wait for the receivers if its data fits into the opening, up to this many bytes
// in a row; each operation counts for a minimum.
constexpr size_t kAhead = 64 << 10, kLeastAhead = 1 << 10;

// The first message of a rank to another in an operation; up to kEager bytes of data are sent with
// it.
struct Opening {
    uint64_t magic;
    uint64_t bytes;  // that this rank has for the other
    Announcement announced;
};
constexpr uint64_t kOpeningMagic = 0x67'6e696e65'704f;

// The health of a communicator; the first reason of failure is kept. Any thread may query and fail
// it.
class Fate {
public:
    void fail(const std::string &reason);
    bool failed() const { return failed_.load(std::memory_order_acquire); }
    std::string reason();

private:
    std::atomic<bool> failed_{false};
    std::mutex lock_;
    std::string reason_;
};

// The ranks of a communicator that communicate through links.
struct Network {
    Network(std::unique_ptr<Links> links, int rank, int ranks)
        : links(std::move(links)), rank(rank), ranks(ranks), desks_(size_t(ranks)) {}
    // Memory of messages that are not sent by now is leaked if it may still be read.
    ~Network() {
        if (!fate.failed() || !links->reads_late()) return;
        static std::mutex lock;
        static auto &left = *new std::vector<std::unique_ptr<Desk>>;
        std::lock_guard guard(lock);
        std::move(desks_.begin(), desks_.end(), std::back_inserter(left));
    }

    // Room for an opening with its data, one to and one from each rank.
    struct Desk {
        struct alignas(64) Page {
            Opening opening;
            alignas(64) unsigned char data[kEager];
        };
        Page out, in;
        // Bytes since the last exchange in both directions: the same on both sides.
        size_t ahead = 0;
    };
    Desk &desk(int peer) {
        auto &desk = desks_[size_t(peer)];
        if (!desk) desk = std::make_unique<Desk>();
        return *desk;
    }

    std::unique_ptr<Links> links;
    const int rank, ranks;
    Fate fate;
    World *host = nullptr;               // of the ranks on this host, where they wait for this one
    int seat = 0;                        // this one's, there
    uint64_t number = 0;                 // of operations so far
    std::vector<unsigned char> staging;  // for pieces on their way into a reduction

private:
    std::vector<std::unique_ptr<Desk>> desks_;
};

// The messages of one operation. When the operation is given up, they are cancelled.
class Session {
public:
    // announced: the operation that this rank waits in, which the others may not know.
    Session(Network &network, double timeout, const char *purpose,
            const Announcement *announced = nullptr)
        : network_(network), timeout_(timeout), purpose_(purpose), announced_(announced) {}

    Transfer &send(int peer, const void *data, size_t bytes);
    Transfer &receive(int peer, void *data, size_t bytes);
    // After a failure no more messages are begun.
    void begin(Transfer &transfer) {
        transfer.done = false;
        if (!network_.fate.failed()) network_.links->begin(transfer);
    }
    // Begins a transfer and waits until it is done.
    void watch(Transfer &transfer) { watched_.push_back(&transfer); }
    void forget(Transfer &transfer) { std::erase(watched_, &transfer); }

    // Makes progress until condition() holds. False: the communicator failed.
    template <class Condition>
    bool until(const Condition &condition) {
        while (!condition())
            if (!step()) return false;
        return !network_.fate.failed();
    }
    bool finish();  // all that was begun
    bool fail(const std::string &reason);

private:
    bool step();
    bool judge();
    Transfer &make(int peer, bool sends, const void *data, size_t bytes);
    // Returns the first one that matches; else null.
    template <class Condition>
    const Transfer *find(const Condition &condition) const {
        for (size_t i = 0; i < std::min(made_, std::size(first_)); ++i)
            if (condition(first_[i])) return &first_[i];
        for (const Transfer &each : more_)
            if (condition(each)) return &each;
        for (const Transfer *each : watched_)
            if (condition(*each)) return each;
        return nullptr;
    }

    Network &network_;
    const double timeout_;
    const char *purpose_;
    const Announcement *announced_;
    double idle_since_ = 0;
    // Most operations need few, for which no memory is allocated.
    Transfer first_[4];
    size_t made_ = 0;
    std::list<Transfer> more_;
    std::vector<Transfer *> watched_;
};

// A transfer to or from one rank, in messages of at most one chunk. Two are pending at a time, to
// keep the network busy; for large ones, where caches matter more, only one.
class Flow {
public:
    // ring: pieces that the memory has room for, used in turn; 0: for all.
    Flow(Session &session, int peer, bool sends, const void *data, size_t bytes, size_t piece,
         size_t ring = 0);
    ~Flow();
    Flow(const Flow &) = delete;
    Flow &operator=(const Flow &) = delete;

    // Begins the chunks before `limit` that can be begun.
    void advance(size_t limit = SIZE_MAX);
    size_t pieces_done() const { return done_; }
    bool done() const { return done_ == pieces_; }
    bool begun() const { return begun_ == pieces_; }

private:
    static constexpr size_t kWindow = 2, kLarge = 2 << 20;

    void count_done();

    Session &session_;
    unsigned char *const data_;
    const size_t bytes_, piece_, ring_, pieces_, most_;
    size_t begun_ = 0, done_ = 0;
    Transfer window_[kWindow];
};

}  // namespace infini::cpu::collectives
