#include "world.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <thread>

namespace infini::cpu::collectives {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kSlice = kSecond / 20;  // between checks of the other ranks' health
constexpr size_t kPage = 4096;

int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * kSecond + time.tv_nsec;
}

// Whether there is memory for all of it; otherwise an access would raise SIGBUS.
bool make_present(void *memory, size_t bytes) {
    constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE; older kernels don't know it
    const auto begin = reinterpret_cast<uintptr_t>(memory) / kPage * kPage;
    const auto end = reinterpret_cast<uintptr_t>(memory) + bytes;
    return madvise(reinterpret_cast<void *>(begin), end - begin, kPopulateWrite) == 0 ||
           errno == EINVAL;
}

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The 22nd word of /proc/<pid>/stat: when the process started. 0: there is none.
uint64_t start_of(int process) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    const char *at = strrchr(text, ')');  // the name before it may hold anything
    if (!at || at[1] == 0) return 0;
    if (at[2] == 'Z' || at[2] == 'X') return 0;  // a zombie
    unsigned long long start = 0;
    return sscanf(
               at + 2,
               "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &start) == 1
               ? start
               : 0;
}

// Process ids are only meaningful within a PID namespace.
uint64_t process_space() {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? uint64_t(status.st_ino) : 0;
}

}  // namespace

void introduce(Seat &seat) {
    seat.process = getpid();
    seat.process_start = start_of(seat.process);
    seat.process_space = process_space();
}

bool is_alive(const Seat &seat) {
    if (seat.process == getpid() || seat.process_space != process_space()) return true;
    return start_of(seat.process) == seat.process_start;
}

size_t World::bytes_for(int ranks) {
    const size_t n = size_t(ranks);
    return kPage + whole_pages(n * sizeof(Seat)) + whole_pages(n * n * sizeof(Channel)) +
           n * 2 * kPiece;
}

World::World(void *memory, int ranks, bool shared)
    : memory_(memory), ranks_(ranks), shared_(shared) {
    static_assert(sizeof(Header) <= kPage);
    const size_t n = size_t(ranks);
    auto *at = static_cast<unsigned char *>(memory) + kPage;
    seats_ = reinterpret_cast<Seat *>(at);
    at += whole_pages(n * sizeof(Seat));
    channels_ = reinterpret_cast<Channel *>(at);
    pieces_ = at + whole_pages(n * n * sizeof(Channel));
}

bool World::open_seats() {
    return !shared_ || make_present(memory_, kPage + size_t(ranks_) * sizeof(Seat));
}

bool World::open_pieces(int rank) {
    if (shared_ && !pieces_open_ && !make_present(piece(rank, 0), 2 * kPiece)) {
        fail("rank " + std::to_string(name(rank)) + " found /dev/shm full: it needs " +
             std::to_string(2 * kPiece) + " bytes there");
        return false;
    }
    return pieces_open_ = true;
}

bool World::open_channel(int rank, int from, int to) {
    if (!shared_) return true;
    const auto at = size_t(from) * size_t(ranks_) + size_t(to);
    channels_open_.resize(size_t(ranks_) * size_t(ranks_));
    if (!channels_open_[at] && !make_present(&channel(from, to), sizeof(Channel))) {
        fail("rank " + std::to_string(name(rank)) + " found /dev/shm full: a message needs " +
             std::to_string(sizeof(Channel)) + " bytes there");
        return false;
    }
    return channels_open_[at] = true;
}

void World::fail(const std::string &reason) {
    uint32_t intact = 0;
    if (header().failed.compare_exchange_strong(intact, 1)) {
        snprintf(header().reason, sizeof header().reason, "%s", reason.c_str());
        header().failed.store(2, std::memory_order_release);
    }
    for (int i = 0; i < ranks_; ++i) Patience::wake(seats_[i].phase, seats_[i].sleepers, shared_);
}

void World::send_elsewhere() {
    header().elsewhere.store(1, std::memory_order_release);
    for (int i = 0; i < ranks_; ++i) Patience::wake(seats_[i].state, seats_[i].sleepers, shared_);
}

std::string World::reason() {
    const timespec moment{0, kSecond / 1000};
    for (int i = 0; i < 1000; ++i) {
        const uint32_t failed = header().failed.load(std::memory_order_acquire);
        if (failed != 1) return failed ? header().reason : "";
        nanosleep(&moment, nullptr);  // it is being written
    }
    return "a rank failed, and died before it could tell why";
}

// ---- Waiting ------------------------------------------------------------------------------------

Patience::Patience(World &world, int rank, double seconds)
    : world_(world), rank_(rank), seconds_(seconds), margin_(world.has_names() ? 1 : 0) {
    // With a core for each rank the others will arrive soon; otherwise they need this core.
    const unsigned cores = std::thread::hardware_concurrency();
    spins_ = cores >= unsigned(world.ranks()) ? 20000 : 200;
}

void Patience::relax(int round) {
    if (spins_ < 1000 && round % 8 == 7) {
        sched_yield();
        return;
    }
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

void Patience::sleep(std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers, uint32_t seen) {
    const timespec slice{0, kSlice};
    sleepers.fetch_add(1);
    const int operation = world_.is_shared() ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE;
    if (word.load() == seen && !world_.failed())
        syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), operation, seen, &slice, nullptr,
                0);
    sleepers.fetch_sub(1);
}

bool Patience::pause(int other, const char *purpose, unsigned round) {
    if (round <= 1) restart();
    if (round < unsigned(spins_)) {
        relax(int(round));
        return !world_.failed();
    }
    const timespec moment{0, 50'000};
    nanosleep(&moment, nullptr);
    if (round % 256 != 0) return !world_.failed();
    // What it sent before it died or left may have just arrived: it is given up only after a second
    // check.
    const std::string doubts = doubt(other, purpose);
    if (!doubts.empty() && doubted_) world_.fail(doubts);
    doubted_ = !doubts.empty();
    return !world_.failed();
}

std::string Patience::doubt(int other, const char *purpose) {
    const Seat &seat = world_.seat(other);
    const uint32_t state = seat.state.load(std::memory_order_acquire);
    char text[256] = "";
    const int who = world_.name(other), me = world_.name(rank_);
    // A rank that waits for another host enforces the time-out itself.
    const uint32_t beat = seat.beat.load(std::memory_order_relaxed);
    if (began_ == 0 || beat != beat_) began_ = now();
    beat_ = beat;
    if (state == World::kLeft)
        snprintf(text, sizeof text, "rank %d has left the communicator while rank %d waited in %s",
                 who, me, purpose);
    else if (state != World::kEmpty && !is_alive(seat))
        snprintf(text, sizeof text, "rank %d (process %d) has died while rank %d waited in %s", who,
                 seat.process, me, purpose);
    else if (seconds_ > 0 && double(now() - began_) > (seconds_ + margin_) * double(kSecond))
        snprintf(text, sizeof text, "rank %d did not come within %g s: rank %d waited in %s", who,
                 seconds_, me, purpose);
    return text;
}

void Patience::wake(std::atomic<uint32_t> &word, std::atomic<uint32_t> &sleepers, bool shared) {
    if (sleepers.load() == 0) return;
    syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word),
            shared ? FUTEX_WAKE : FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace infini::cpu::collectives
