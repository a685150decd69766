// How the ranks of a communicator find each other over MPI: each sends a letter (a small message)
// to every process of the job, and keeps the letters of others until a join in this process needs
// them.
#include "mpi.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "mpi_members.h"
#include "mpi_process.h"
#include "world.h"

namespace infini::cpu::collectives {
namespace {

using Clock = std::chrono::steady_clock;

struct Letter {
    uint64_t magic, nonce;
    int32_t ranks, rank, process, channel;
    uint64_t process_start, process_space;  // as in Seat
    int32_t process_number;
    Member member;
};
constexpr uint64_t kMpiMagic = 0x31697069'6e666e69;

// The letters for one id, by rank. If two processes claim a rank, both letters are kept.
struct Letters {
    std::vector<Letter> come;
    int readers = 0;  // ranks of this process that wait for it
};

struct Office {
    std::mutex lock;
    std::map<uint64_t, Letters> boxes;
    std::map<uint64_t, MpiMembers> known;  // from mpi_table to mpi_links

    static Office &get() {
        static auto *office = new Office;
        return *office;
    }
    // Letters that nobody here needs: of communicators among other processes.
    void forget_some() {
        constexpr size_t kMost = 4096;
        for (auto at = boxes.begin(); boxes.size() > kMost && at != boxes.end();)
            at = at->second.readers == 0 ? boxes.erase(at) : std::next(at);
    }
    void collect(MpiProcess &mpi) {
        Letter letter{};
        while (mpi.take(mpi.library().any_source, MpiProcess::kTableTag, &letter, sizeof letter))
            if (letter.magic == kMpiMagic) boxes[letter.nonce].come.push_back(letter);
        forget_some();
    }
};

// Why these letters do not form a communicator; empty: they may.
std::string contradiction(const std::vector<Letter> &letters, int ranks, int rank) {
    std::vector<const Letter *> seats(size_t(ranks), nullptr);
    for (const Letter &letter : letters) {
        if (letter.ranks != ranks)
            return "rank " + std::to_string(letter.rank) + " joined as one of " +
                   std::to_string(letter.ranks) + " ranks, rank " + std::to_string(rank) +
                   " as one of " + std::to_string(ranks);
        const Letter *&seat = seats[size_t(letter.rank)];
        if (seat)
            return "rank " + std::to_string(letter.rank) + " has been taken by process " +
                   std::to_string(seat->process_number);
        seat = &letter;
    }
    return "";
}

int missing_rank(const std::vector<Letter> &letters, int ranks) {
    for (int rank = 0; rank < ranks; ++rank)
        if (std::none_of(letters.begin(), letters.end(),
                         [&](const Letter &letter) { return letter.rank == rank; }))
            return rank;
    return -1;
}

Letter letter_of(MpiProcess &mpi, uint64_t nonce, int ranks, int rank, const Member &mine) {
    auto seat = std::make_unique<Seat>();
    introduce(*seat);
    Letter letter{};
    letter.magic = kMpiMagic;
    letter.nonce = nonce;
    letter.ranks = ranks;
    letter.rank = rank;
    letter.process = mpi.rank();
    letter.channel = mpi.new_channel();
    letter.process_start = seat->process_start;
    letter.process_space = seat->process_space;
    letter.process_number = seat->process;
    letter.member = mine;
    letter.member.world_rank = mpi.rank();
    return letter;
}

// Waits for the letters of all ranks, and puts them in order.
bool gather(MpiProcess &mpi, const Letter &mine, double timeout, std::vector<Letter> *letters,
            std::string *problem) {
    const auto began = Clock::now();
    Office &office = Office::get();
    Idling idling;
    for (;; idling.pause()) {
        std::lock_guard guard(office.lock);
        office.collect(mpi);
        *letters = office.boxes[mine.nonce].come;
        *problem = contradiction(*letters, mine.ranks, mine.rank);
        if (!problem->empty()) return false;
        const int missing = missing_rank(*letters, mine.ranks);
        if (missing < 0) break;
        if (!mpi.is_usable()) {
            *problem =
                "MPI was ended while rank " + std::to_string(mine.rank) + " waited in CommInitRank";
            return false;
        }
        const std::chrono::duration<double> waited = Clock::now() - began;
        if (timeout > 0 && waited.count() > timeout) {
            char text[128];
            snprintf(text, sizeof text,
                     "rank %d did not come within %g s: rank %d waited in CommInitRank", missing,
                     timeout, mine.rank);
            *problem = text;
            return false;
        }
    }
    std::sort(letters->begin(), letters->end(),
              [](const Letter &a, const Letter &b) { return a.rank < b.rank; });
    return true;
}

MpiMembers members_of(const std::vector<Letter> &letters) {
    MpiMembers members;
    members.channel = letters[0].channel;
    for (const Letter &letter : letters) {
        members.processes.push_back(letter.process);
        members.starts.push_back(letter.process_start);
        members.spaces.push_back(letter.process_space);
        members.numbers.push_back(letter.process_number);
    }
    return members;
}

}  // namespace

bool mpi_possible(std::string *why_not) {
    if (mpi_is_launched() ? mpi_launched_processes() != 1 : mpi_is_initialized()) return true;
    *why_not = "no launcher of MPI (mpirun, mpiexec) started this process together with others";
    return false;
}

bool mpi_spans_hosts() {
    const char *host = std::getenv("INFINI_CCL_HOST");
    if (host && *host) return true;
    const int all = mpi_launched_processes(), here = mpi_processes_of_this_host();
    return all == 0 || here == 0 || all != here;
}

bool mpi_table(uint64_t nonce, int ranks, int rank, const Member &mine, double timeout,
               std::vector<Member> *table, std::string *problem) {
    MpiProcess *mpi = MpiProcess::start(timeout, problem);
    if (!mpi) return false;
    mpi->collect();
    const Letter letter = letter_of(*mpi, nonce, ranks, rank, mine);
    Office &office = Office::get();
    {
        std::lock_guard guard(office.lock);
        Letters &box = office.boxes[nonce];
        box.come.push_back(letter);
        ++box.readers;
    }
    for (int process = 0; process < mpi->ranks(); ++process)
        if (process != mpi->rank())
            mpi->post(process, MpiProcess::kTableTag, &letter, sizeof letter);
    std::vector<Letter> letters;
    const bool complete = gather(*mpi, letter, timeout, &letters, problem);
    std::lock_guard guard(office.lock);
    if (--office.boxes[nonce].readers == 0) office.boxes.erase(nonce);
    if (!complete) {
        mpi->note_failure();
        return false;
    }
    table->clear();
    for (const Letter &each : letters) table->push_back(each.member);
    office.known[nonce] = members_of(letters);
    return true;
}

std::unique_ptr<Links> mpi_links(uint64_t nonce, int rank, const std::vector<Member> &table,
                                 std::string *problem) {
    MpiProcess *mpi = MpiProcess::start(0, problem);
    if (!mpi) return nullptr;
    Office &office = Office::get();
    std::lock_guard guard(office.lock);
    auto found = office.known.find(nonce);
    if (found == office.known.end() || found->second.processes.size() != table.size()) {
        *problem = "the ranks did not find each other over MPI";
        return nullptr;
    }
    MpiMembers members = std::move(found->second);
    office.known.erase(found);
    std::vector<int> processes = members.processes;
    std::sort(processes.begin(), processes.end());
    if (std::adjacent_find(processes.begin(), processes.end()) != processes.end()) {
        *problem = "two ranks are in the same process of the MPI job";
        return nullptr;
    }
    return make_mpi_links(*mpi, rank, table, std::move(members));
}

}  // namespace infini::cpu::collectives
