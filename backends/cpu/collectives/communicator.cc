// Communicators of ranks that share memory.
#include "communicator.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "infinicore.h"

namespace infini::cpu::collectives {

Ground::~Ground() { munmap(memory, bytes); }

std::shared_ptr<Ground> open_ground(const std::string &name, int ranks, std::string *problem) {
    const size_t bytes = World::bytes_for(ranks);
    const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat status{};
    bool ready = file >= 0 && fstat(file, &status) == 0;
    // The first to open it sets its size. A different number of ranks would need a different size.
    if (ready && status.st_size == 0) ready = ftruncate(file, off_t(bytes)) == 0;
    if (ready && fstat(file, &status) == 0 && size_t(status.st_size) != bytes) {
        close(file);
        *problem = "another rank joined with another number of ranks than " + std::to_string(ranks);
        return nullptr;
    }
    void *memory =
        ready ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (memory == MAP_FAILED)
        *problem =
            "cannot make shared memory of " + std::to_string(bytes) + " bytes: " + strerror(errno);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) return nullptr;
    auto ground = std::make_shared<Ground>(memory, bytes, ranks, true);
    if (ground->world.open_seats()) return ground;
    shm_unlink(name.c_str());
    *problem = "/dev/shm is full: no room for the seats of " + std::to_string(ranks) + " ranks";
    return nullptr;
}

std::shared_ptr<Ground> make_ground(int ranks) {
    const size_t bytes = World::bytes_for(ranks);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : std::make_shared<Ground>(memory, bytes, ranks, false);
}

bool take_seat(World &world, int rank, std::string *problem) {
    uint32_t none = 0, empty = World::kEmpty;
    const uint32_t ranks = uint32_t(world.ranks());
    if (!world.header().ranks.compare_exchange_strong(none, ranks) && none != ranks) {
        *problem = "other ranks joined as " + std::to_string(none) + " ranks, not " +
                   std::to_string(ranks);
        return false;
    }
    Seat &seat = world.seat(rank);
    if (!seat.state.compare_exchange_strong(empty, World::kTaken)) {
        *problem = "rank " + std::to_string(rank) + " has been taken by process " +
                   std::to_string(seat.process);
        return false;
    }
    introduce(seat);
    seat.state.store(World::kJoined);
    Patience::wake(seat.state, seat.sleepers, world.is_shared());
    return true;
}

SharedCommunicator::SharedCommunicator(std::shared_ptr<Ground> ground, int rank, double timeout)
    : ground_(std::move(ground)), rank_(rank), timeout_(timeout) {}

SharedCommunicator::~SharedCommunicator() {
    Seat &seat = world().seat(rank_);
    seat.state.store(World::kLeft);
    Patience::wake(seat.phase, seat.sleepers, world().is_shared());
}

bool SharedCommunicator::assemble(bool *elsewhere) {
    Patience patience(world(), rank_, timeout_.load());
    direct_ = true;
    *elsewhere = false;
    for (int i = 0; i < world().ranks(); ++i) {
        Seat &seat = world().seat(i);
        auto joined = [&] { return seat.state.load() >= World::kJoined; };
        auto settled = [&] { return joined() || world().is_elsewhere(); };
        if (!patience.wait(i, seat.state, seat.sleepers, "CommInitRank", settled)) return false;
        if (!joined()) {
            if (world().failed()) return false;
            *elsewhere = true;
            return true;
        }
        direct_ = direct_ && seat.process == getpid() &&
                  seat.process_space == world().seat(rank_).process_space;
    }
    return true;
}

const char *kind_name(int kind) {
    constexpr const char *kNames[INFINI_COLLECTIVE_KINDS] = {
        "nothing", "AllReduce", "Reduce",   "Broadcast", "AllGather", "ReduceScatter",
        "Gather",  "Scatter",   "AllToAll", "Send",      "Recv"};
    return kind > 0 && kind < INFINI_COLLECTIVE_KINDS ? kNames[kind] : "something unknown";
}

size_t element_bytes(int dtype) { return infiniSizeOf(static_cast<infiniDtype_t>(dtype)); }

}  // namespace infini::cpu::collectives
