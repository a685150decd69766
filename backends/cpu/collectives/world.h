// The shared memory of the ranks of one host, in one process or several. It holds a seat for each
// rank with its announcement, and buffers for data in transit.
//
// It has no locks: each rank writes only its own seat, and the others wait for a counter in it, so
// that it is always known which rank is waited for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace infini::cpu::collectives {

constexpr int kMostRanks = 256;
constexpr size_t kSmall = 4096;        // bytes of data in a seat, beside the announcement
constexpr size_t kPiece = 256 << 10;   // bytes that a rank writes at a time
constexpr size_t kChannel = 64 << 10;  // bytes of a channel from one rank to another

// What a rank is about to do. All ranks must announce the same.
struct Announcement {
    int32_t kind, dtype, op, root;
    uint64_t count;   // elements
    uint64_t counts;  // hash of the counts that all ranks must agree on
    uint64_t number;  // of the operation on its communicator
};

struct alignas(128) Seat {
    std::atomic<uint32_t> phase;     // the number of barriers that this rank has reached
    std::atomic<uint32_t> sleepers;  // of ranks that wait for `phase`
    std::atomic<uint32_t> state;
    std::atomic<uint32_t> beat;  // changes while it waits for a rank on another host
    int32_t process;
    uint64_t process_start, process_space;
    // By the parity of the operation: the next one can be announced while others still read this
    // one.
    struct Page {
        Announcement announced;
        const void *send;  // in one process, others read and write them directly
        void *recv;
        uint64_t send_counts[kMostRanks];
        alignas(64) unsigned char small[kSmall];
    } page[2];
};

// Bytes from one rank to another, first in, first out.
struct alignas(128) Channel {
    std::atomic<uint64_t> written, read;  // bytes so far
    alignas(64) unsigned char data[kChannel];
};

struct Header {
    std::atomic<uint32_t> ranks;   // 0 until the first rank has joined
    std::atomic<uint32_t> failed;  // 1 while the reason is written, 2 from then on
    std::atomic<uint32_t> elsewhere;
    char reason[480];
};

class World {
public:
    enum State : uint32_t { kEmpty, kTaken, kJoined, kLeft };

    World(void *memory, int ranks, bool shared);
    static size_t bytes_for(int ranks);

    int ranks() const { return ranks_; }
    Header &header() { return *static_cast<Header *>(memory_); }
    Seat &seat(int rank) { return seats_[rank]; }
    // Data buffers: two chunks for each rank, used alternately.
    unsigned char *piece(int rank, unsigned turn) {
        return pieces_ + (size_t(rank) * 2 + turn % 2) * kPiece;
    }
    Channel &channel(int from, int to) { return channels_[from * ranks_ + to]; }

    // Shared memory is allocated on first use, which may fail. These reserve it, once; false: the
    // world has failed for that reason.
    bool open_seats();
    bool open_pieces(int rank);
    bool open_channel(int rank, int from, int to);

    // Marks this communicator as failed, with a reason; the first reason is kept.
    void fail(const std::string &reason);
    bool failed() { return header().failed.load(std::memory_order_acquire) != 0; }
    std::string reason();

    bool is_shared() const { return shared_; }

    // Tells ranks that wait for all to join that some are on other hosts.
    void send_elsewhere();
    bool is_elsewhere() { return header().elsewhere.load(std::memory_order_acquire) != 0; }

    // The names of ranks in messages, if these are only some of a communicator.
    void set_names(std::vector<int> names) { names_ = std::move(names); }
    bool has_names() const { return !names_.empty(); }
    int name(int rank) const { return names_.empty() ? rank : names_[size_t(rank)]; }

private:
    void *memory_;
    int ranks_;
    bool shared_;  // between processes
    Seat *seats_;
    Channel *channels_;
    unsigned char *pieces_;
    std::vector<int> names_;
    bool pieces_open_ = false;
    std::vector<bool> channels_open_;
};

// Waits until condition() holds for the word at `word`, which rank `other` changes. False: the
// world failed, perhaps for this very reason: the other is dead, has left, or does not come in
// time.
class Patience {
public:
    Patience(World &world, int rank, double seconds);

    template <class Condition>
    bool wait(int other, std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers,
              const char *purpose, const Condition &condition) {
        for (int i = 0; i < spins_; ++i) {
            if (condition()) return true;
            relax(i);
        }
        while (!condition()) {
            const uint32_t seen = word.load(std::memory_order_acquire);
            if (condition()) break;
            sleep(word, sleepers, seen);
            // A rank that arrived and then died or left did arrive: check for death first, then
            // look once more.
            const std::string doubts = doubt(other, purpose);
            if (condition()) break;
            if (!doubts.empty()) world_.fail(doubts);
            if (world_.failed()) return false;
        }
        return true;
    }
    // For waiting on several conditions: false when it is time to give up on `other`. Rounds are
    // counted from the last progress.
    bool pause(int other, const char *purpose, unsigned round);
    // Restarts the time-out after progress.
    void restart() {
        began_ = 0;
        doubted_ = false;
    }

    static void wake(std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers, bool shared);

private:
    void relax(int round);
    void sleep(std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers, uint32_t seen);
    std::string doubt(int other, const char *purpose);  // why it will not arrive; empty: it may

    World &world_;
    int rank_, spins_;
    double seconds_;  // 0: for ever
    double margin_;   // data from another host takes a little longer
    int64_t began_ = 0;
    uint32_t beat_ = 0;
    bool doubted_ = false;
};

// Identifies this process, so that others can see whether it is still alive.
void introduce(Seat &seat);
bool is_alive(const Seat &seat);

}  // namespace infini::cpu::collectives
