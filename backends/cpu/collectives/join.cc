// How ranks find each other and choose a transport, and the table of the back end.
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "hierarchy.h"
#include "infinicore.h"
#include "mpi.h"
#include "rendezvous.h"
#include "runtime/error.h"

namespace infini::cpu::collectives {
namespace {

int refuse(int status, const std::string &sentence) {
    fail(infinirtErrorInvalidValue, "%s", sentence.c_str());
    return status;
}

int make_id(unsigned char id[INFINI_COLLECTIVE_ID_BYTES]) {
    static_assert(sizeof(Id) <= INFINI_COLLECTIVE_ID_BYTES);
    Id made{};
    uint64_t random[3];
    std::string problem;
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return refuse(INFINI_STATUS_INTERNAL_ERROR, "the system gives no random numbers");
    made.magic = kIdMagic;
    made.nonce = random[0];
    std::copy(random + 1, random + 3, made.secret);
    made.host = this_host();
    if (mpi_possible(&problem)) made.flags |= kMadeUnderMpi;
    // Without a network the id is still valid on this host.
    if (!expect_guests(&made, &problem) && getenv("INFINI_CCL_ADDRESS"))
        return refuse(INFINI_STATUS_BAD_PARAM, problem);
    memset(id, 0, INFINI_COLLECTIVE_ID_BYTES);
    memcpy(id, &made, sizeof made);
    return INFINI_STATUS_SUCCESS;
}

// One rank that is joining a communicator.
class Joining {
public:
    Joining(const Id &id, int ranks, int rank, double timeout)
        : id_(id), ranks_(ranks), rank_(rank), timeout_(timeout) {
        mine_.host = this_host();
        mine_.process = getpid();
    }

    // Null: *problem says why.
    std::unique_ptr<Communicator> run(std::string *problem) {
        problem_ = problem;
        if (!read_wish()) return nullptr;
        std::string why_not = "comm_id was made by a process that no MPI launcher started";
        const bool mpi = (id_.flags & kMadeUnderMpi) && mpi_possible(&why_not) &&
                         (mine_.wish == Member::kMpi || mpi_spans_hosts());
        if (mine_.wish == Member::kMpi && !mpi)
            return refused("INFINI_CCL_TRANSPORT is mpi, but " + why_not);
        if (mpi) return find_by_mpi();
        if (id_.host == mine_.host && mine_.wish != Member::kTcp) {
            bool elsewhere = false;
            auto communicator = share(memory_name(id_), ranks_, rank_, {}, &elsewhere);
            if (communicator || !elsewhere) return communicator;
        }
        if (mine_.wish == Member::kShared)
            return refused("INFINI_CCL_TRANSPORT is shm, but not all ranks are on one host");
        if (!find_others(id_, ranks_, rank_, mine_, timeout_, &found_, problem)) return nullptr;
        return connect();
    }

private:
    std::nullptr_t refused(const std::string &sentence) {
        *problem_ = sentence;
        return nullptr;
    }

    bool read_wish() {
        const char *text = getenv("INFINI_CCL_TRANSPORT");
        const std::string wish = text ? text : "";
        if (wish == "shm") mine_.wish = Member::kShared;
        if (wish == "tcp") mine_.wish = Member::kTcp;
        if (wish == "mpi") mine_.wish = Member::kMpi;
        if (wish.empty() || mine_.wish != Member::kAny) return true;
        refused("INFINI_CCL_TRANSPORT is " + wish + ": expected shm, tcp or mpi");
        return false;
    }

    std::unique_ptr<Communicator> find_by_mpi() {
        // In case MPI cannot be used between them after all.
        Address here{};
        std::string unimportant;
        if (own_address(&here, &unimportant)) found_.listening = listen_at(&here, &unimportant);
        if (found_.listening) memcpy(mine_.address, &here, sizeof here);
        if (!mpi_table(id_.nonce, ranks_, rank_, mine_, timeout_, &found_.table, problem_))
            return nullptr;
        by_mpi_ = true;
        return connect();
    }

    // All have arrived, and are in the table.
    std::unique_ptr<Communicator> connect() {
        bool one_host = true;
        uint32_t wish = Member::kAny;
        for (const Member &member : found_.table) {
            one_host &= member.host == found_.table[0].host;
            if (wish != Member::kAny && member.wish != Member::kAny && member.wish != wish)
                return refused("ranks differ in INFINI_CCL_TRANSPORT");
            wish = std::max(wish, member.wish);
        }
        if (wish == Member::kShared && !one_host)
            return refused("INFINI_CCL_TRANSPORT is shm, but not all ranks are on one host");
        if (wish == Member::kMpi && !by_mpi_)
            return refused("INFINI_CCL_TRANSPORT is mpi for some ranks only");
        if (one_host && wish <= Member::kShared) return share_host({});
        // Before the links, so that a host whose ranks cannot share memory does not leave others
        // waiting.
        const bool layered = count_hosts() < ranks_ && wish == Member::kAny;
        std::unique_ptr<SharedCommunicator> below;
        if (layered && ranks_here().size() > 1) {
            below = share_host(ranks_here());
            if (!below) return nullptr;
        }
        std::unique_ptr<Links> links;
        if (by_mpi_ && wish != Member::kTcp && one_rank_each_process()) {
            links = mpi_links(id_.nonce, rank_, found_.table, problem_);
        } else {
            if (!found_.listening) return refused("this host has no address to be reached at");
            links = tcp_links(id_, rank_, std::move(found_), timeout_, problem_);
        }
        if (!links) return nullptr;
        return std::make_unique<NetworkCommunicator>(std::move(links), rank_, hosts_,
                                                     std::move(below), layered, timeout_);
    }

    // Numbers the hosts of the table in the order of their first ranks.
    int count_hosts() {
        std::vector<uint64_t> known;
        hosts_.clear();
        for (const Member &member : found_.table) {
            auto at = std::find(known.begin(), known.end(), member.host);
            hosts_.push_back(int(at - known.begin()));
            if (at == known.end()) known.push_back(member.host);
        }
        return int(known.size());
    }

    std::vector<int> ranks_here() const {
        std::vector<int> here;
        for (int i = 0; i < ranks_; ++i)
            if (found_.table[size_t(i)].host == mine_.host) here.push_back(i);
        return here;
    }

    bool one_rank_each_process() const {
        for (size_t i = 0; i < found_.table.size(); ++i)
            for (size_t j = 0; j < i; ++j)
                if (found_.table[i].world_rank == found_.table[j].world_rank) return false;
        return true;
    }

    // The shared memory of this host's ranks, once they are known. No names: all ranks are here.
    std::unique_ptr<SharedCommunicator> share_host(std::vector<int> names) {
        const std::vector<int> here = ranks_here();
        const auto seat = std::find(here.begin(), here.end(), rank_) - here.begin();
        const std::string name = memory_name(id_) + "-" + std::to_string(here[0]);
        bool elsewhere;
        return share(name, int(here.size()), int(seat), std::move(names), &elsewhere);
    }

    std::unique_ptr<SharedCommunicator> share(const std::string &name, int ranks, int seat,
                                              std::vector<int> names, bool *elsewhere) {
        auto ground = open_ground(name, ranks, problem_);
        if (!ground || !take_seat(ground->world, seat, problem_)) return nullptr;
        ground->world.set_names(std::move(names));
        auto made = std::make_unique<SharedCommunicator>(ground, seat, timeout_);
        const bool complete = made->assemble(elsewhere);
        // Its name is no longer needed; while remote ranks connect, the listener owns it.
        if (!*elsewhere && (seat == 0 || !complete)) shm_unlink(name.c_str());
        if (complete && !*elsewhere) return made;
        *problem_ = ground->world.reason();
        return nullptr;
    }

    const Id &id_;
    const int ranks_, rank_;
    const double timeout_;
    Member mine_;
    Found found_;
    std::vector<int> hosts_;
    bool by_mpi_ = false;
    std::string *problem_ = nullptr;
};

int join(int, int ranks, int rank, const unsigned char bytes[INFINI_COLLECTIVE_ID_BYTES],
         double timeout, InfiniCommunicator **result) {
    Id id;
    memcpy(&id, bytes, sizeof id);
    if (id.magic != kIdMagic)
        return refuse(INFINI_STATUS_BAD_PARAM, "comm_id is none that was made for CPU devices");
    if (ranks > kMostRanks)
        return refuse(INFINI_STATUS_BAD_PARAM, "nranks is " + std::to_string(ranks) +
                                                   ": expected at most " +
                                                   std::to_string(kMostRanks));
    std::string problem;
    auto made = Joining(id, ranks, rank, timeout).run(&problem);
    if (!made) return refuse(INFINI_STATUS_INTERNAL_ERROR, problem);
    *result = reinterpret_cast<InfiniCommunicator *>(made.release());
    return INFINI_STATUS_SUCCESS;
}

int join_all(int ranks, const int *, double timeout, InfiniCommunicator **results) {
    if (ranks > kMostRanks) return refuse(INFINI_STATUS_BAD_PARAM, "too many ranks");
    auto ground = make_ground(ranks);
    if (!ground) return refuse(INFINI_STATUS_INTERNAL_ERROR, "no memory for a communicator");
    std::string problem;
    for (int rank = 0; rank < ranks; ++rank) take_seat(ground->world, rank, &problem);
    for (int rank = 0; rank < ranks; ++rank) {
        bool elsewhere;
        auto *made = new SharedCommunicator(ground, rank, timeout);
        made->assemble(&elsewhere);
        results[rank] = reinterpret_cast<InfiniCommunicator *>(static_cast<Communicator *>(made));
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
    of(communicator).fail(reason);
    return INFINI_STATUS_SUCCESS;
}

int set_timeout(InfiniCommunicator *communicator, double seconds) {
    of(communicator).set_timeout(seconds);
    return INFINI_STATUS_SUCCESS;
}

int state(InfiniCommunicator *communicator, char *reason, size_t reason_bytes) {
    const std::string failure = of(communicator).failure();
    if (failure.empty()) return INFINI_STATUS_SUCCESS;
    snprintf(reason, reason_bytes, "%s", failure.c_str());
    return INFINI_STATUS_INTERNAL_ERROR;
}

int run(InfiniCommunicator *communicator, const InfiniCollective *work, size_t count) {
    if (of(communicator).run(work, count)) return INFINI_STATUS_SUCCESS;
    return refuse(INFINI_STATUS_INTERNAL_ERROR, of(communicator).failure());
}

int about(char *text, size_t text_bytes) {
    std::string why_not;
    snprintf(text, text_bytes, "shared memory, TCP%s", mpi_possible(&why_not) ? ", MPI" : "");
    return INFINI_STATUS_SUCCESS;
}

}  // namespace
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
                                            nullptr,
                                            nullptr,
                                            about};
    return &table;
}
