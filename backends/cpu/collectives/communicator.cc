// Communicators: how ranks find each other, and the table of the back end.
#include "communicator.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "error.h"
#include "infinicore.h"

namespace infini::cpu::collectives {
namespace {

// What an id says: which machine, and the name of the memory where ranks meet.
struct Id {
    uint64_t magic, nonce, machine;
};
constexpr uint64_t kMagic = 0x316c6363'696e6669;

// Differs between machines, and between two starts of one.
uint64_t this_machine() {
    uint64_t hash = 0xcbf29ce484222325;
    char text[64] = "";
    if (FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r")) {
        if (!fgets(text, sizeof text, file)) text[0] = 0;
        fclose(file);
    }
    for (const char *c = text; *c; ++c) hash = (hash ^ uint64_t(*c)) * 0x100000001b3;
    return hash;
}

int refuse(int status, const std::string &sentence) {
    fail(infinirtErrorInvalidValue, "%s", sentence.c_str());
    return status;
}

int make_id(unsigned char id[INFINI_COLLECTIVE_ID_BYTES]) {
    Id made{kMagic, 0, this_machine()};
    if (getrandom(&made.nonce, sizeof made.nonce, 0) != sizeof made.nonce)
        return refuse(INFINI_STATUS_INTERNAL_ERROR, "the system gives no random numbers");
    memset(id, 0, INFINI_COLLECTIVE_ID_BYTES);
    memcpy(id, &made, sizeof made);
    return INFINI_STATUS_SUCCESS;
}

std::string memory_name(const Id &id) {
    char name[64];
    snprintf(name, sizeof name, "/infini-ccl-%016" PRIx64, id.nonce);
    return name;
}

// The memory of an id: fresh memory is all zero, which is how a world begins.
std::shared_ptr<Ground> open_ground(const Id &id, int ranks, std::string *problem) {
    const size_t bytes = World::bytes_for(ranks);
    const int file = shm_open(memory_name(id).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat status{};
    bool ready = file >= 0 && fstat(file, &status) == 0;
    // Whoever comes first gives it its size. Another number of ranks would need another size.
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
    return memory == MAP_FAILED ? nullptr : std::make_shared<Ground>(memory, bytes, ranks, true);
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

int join(int, int ranks, int rank, const unsigned char bytes[INFINI_COLLECTIVE_ID_BYTES],
         double timeout, InfiniCommunicator **result) {
    Id id;
    memcpy(&id, bytes, sizeof id);
    if (id.magic != kMagic)
        return refuse(INFINI_STATUS_BAD_PARAM, "comm_id is none that was made for CPU devices");
    if (id.machine != this_machine())
        return refuse(
            INFINI_STATUS_BAD_PARAM,
            "comm_id was made on another machine: start the ranks with MPI to work between "
            "machines");
    if (ranks > kMostRanks)
        return refuse(INFINI_STATUS_BAD_PARAM, "nranks is " + std::to_string(ranks) +
                                                   ": expected at most " +
                                                   std::to_string(kMostRanks));
    std::string problem;
    auto ground = open_ground(id, ranks, &problem);
    if (!ground || !take_seat(ground->world, rank, &problem))
        return refuse(INFINI_STATUS_BAD_PARAM, problem);
    auto communicator = std::make_unique<Communicator>(ground, rank, timeout);
    const bool complete = communicator->assemble();
    if (rank == 0 || !complete) shm_unlink(memory_name(id).c_str());
    if (!complete) return refuse(INFINI_STATUS_INTERNAL_ERROR, ground->world.reason());
    *result = reinterpret_cast<InfiniCommunicator *>(communicator.release());
    return INFINI_STATUS_SUCCESS;
}

int join_all(int ranks, const int *, double timeout, InfiniCommunicator **results) {
    if (ranks > kMostRanks) return refuse(INFINI_STATUS_BAD_PARAM, "too many ranks");
    const size_t bytes = World::bytes_for(ranks);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return refuse(INFINI_STATUS_INTERNAL_ERROR, "no memory for a communicator");
    auto ground = std::make_shared<Ground>(memory, bytes, ranks, false);
    std::string problem;
    for (int rank = 0; rank < ranks; ++rank) take_seat(ground->world, rank, &problem);
    for (int rank = 0; rank < ranks; ++rank) {
        auto *made = new Communicator(ground, rank, timeout);
        made->assemble();
        results[rank] = reinterpret_cast<InfiniCommunicator *>(made);
    }
    return INFINI_STATUS_SUCCESS;
}

Communicator &of(InfiniCommunicator *communicator) {
    return *reinterpret_cast<Communicator *>(communicator);
}

int leave(InfiniCommunicator *communicator) {
    delete &of(communicator);
    return INFINI_STATUS_SUCCESS;
}

int abort(InfiniCommunicator *communicator, const char *reason) {
    of(communicator).world().fail(reason);
    return INFINI_STATUS_SUCCESS;
}

int set_timeout(InfiniCommunicator *communicator, double seconds) {
    of(communicator).set_timeout(seconds);
    return INFINI_STATUS_SUCCESS;
}

int state(InfiniCommunicator *communicator, char *reason, size_t reason_bytes) {
    World &world = of(communicator).world();
    if (!world.failed()) return INFINI_STATUS_SUCCESS;
    snprintf(reason, reason_bytes, "%s", world.reason().c_str());
    return INFINI_STATUS_INTERNAL_ERROR;
}

int run(InfiniCommunicator *communicator, const InfiniCollective *work, size_t count) {
    if (of(communicator).run(work, count)) return INFINI_STATUS_SUCCESS;
    return refuse(INFINI_STATUS_INTERNAL_ERROR, of(communicator).world().reason());
}

}  // namespace

Ground::~Ground() { munmap(memory, bytes); }

Communicator::Communicator(std::shared_ptr<Ground> ground, int rank, double timeout)
    : ground_(std::move(ground)), rank_(rank), timeout_(timeout) {}

Communicator::~Communicator() {
    Seat &seat = world().seat(rank_);
    seat.state.store(World::kLeft);
    Patience::wake(seat.phase, seat.sleepers, world().is_shared());
}

bool Communicator::assemble() {
    Patience patience(world(), rank_, timeout_.load());
    direct_ = true;
    for (int i = 0; i < world().ranks(); ++i) {
        Seat &seat = world().seat(i);
        auto joined = [&] { return seat.state.load() >= World::kJoined; };
        if (!patience.wait(i, seat.state, seat.sleepers, "CommInitRank", joined)) return false;
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

extern "C" [[gnu::visibility("default")]] const InfiniCollectives *infini_backend_collectives() {
    using namespace infini::cpu::collectives;
    static const InfiniCollectives table = {sizeof(InfiniCollectives),
                                            make_id,
                                            join,
                                            join_all,
                                            leave,
                                            abort,
                                            set_timeout,
                                            state,
                                            run,
                                            nullptr};
    return &table;
}
