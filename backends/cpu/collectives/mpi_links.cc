// Messages between ranks over MPI.
//
// A communicator has two tags: one for the messages, and one on which a rank says that it leaves or
// that the communicator failed. No receive is posted for the latter: it is probed periodically, so
// that nothing is pending when MPI is finalized.
#include <algorithm>
#include <bitset>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <set>

#include "mpi_members.h"
#include "world.h"

namespace infini::cpu::collectives {
namespace {

using Clock = std::chrono::steady_clock;

// The final message to the others.
struct Word {
    uint64_t magic;
    int32_t rank;
    int32_t failed;                // 0: the rank leaves
    std::bitset<kMostRanks> lost;  // dead ranks, to which MPI may crash on a message
    char reason[480];
};
constexpr uint64_t kLinkMagic = 0x32697069'6e666e69;
constexpr int kLongest = 100;       // milliseconds that progress() waits
constexpr unsigned kTimeless = 64;  // rounds of it

class MpiLinks final : public Links {
public:
    MpiLinks(MpiProcess &mpi, int rank, const std::vector<Member> &table, MpiMembers members)
        : mpi_(mpi),
          lib_(mpi.library()),
          me_(rank),
          tag_(MpiProcess::tag_of(members.channel)),
          members_(std::move(members)),
          gone_(table.size()),
          rounds_since_leave_(table.size(), 0) {
        for (const Member &member : table)
            is_neighbour_.push_back(member.host == table[size_t(rank)].host);
        farewell_ = {tag_ + 1, {}, {}};
        for (int i = 0; i < int(table.size()); ++i) {
            if (i == me_) continue;
            reachable_.insert(i);
            unheard_.insert(i);
            farewell_.to.push_back(members_.processes[size_t(i)]);
        }
        const Word word = make_word("");
        farewell_.message.resize(sizeof word);
        memcpy(farewell_.message.data(), &word, sizeof word);
        mpi_.add_farewell(&farewell_);
    }

    ~MpiLinks() override {
        tell("");
        mpi_.expect(tag_ + 1, int(unheard_.size()));
    }

    void begin(Transfer &transfer) override {
        const size_t peer = size_t(transfer.peer);
        transfer.done = false;
        transfer.came = 0;
        if (transfer.bytes > INT_MAX) {
            note(peer, " cannot get a message of more than 2 GiB");
            return;
        }
        Handle request = lib_.null_request;
        int code;
        {
            auto mine = mpi_.turn();
            if (!mine) return note_end();
            const int bytes = int(transfer.bytes), process = members_.processes[peer];
            code = transfer.sends ? lib_.Isend(transfer.data, bytes, lib_.byte, process, tag_,
                                               mpi_.comm(), &request)
                                  : lib_.Irecv(transfer.data, bytes, lib_.byte, process, tag_,
                                               mpi_.comm(), &request);
        }
        if (code != 0)
            note_error(peer, code);
        else
            active_.push_back({&transfer, request});
        idling_.reset();
    }

    bool progress(int milliseconds) override {
        // A short wait: only gone() detects that a rank has died.
        Clock::time_point deadline{};
        for (unsigned round = 0;; ++round, idling_.pause()) {
            if (test_all()) {
                idling_.reset();
                if (++rounds_ % 64 == 0) listen();
                return true;
            }
            // Final messages are probed when idle.
            if (++rounds_ % 16 == 0 || milliseconds == 0) listen();
            if (is_news_) break;
            if (woken_.load(std::memory_order_relaxed) && woken_.exchange(false)) break;
            // Polls without a clock at first.
            if (milliseconds > 0 && round < kTimeless) continue;
            const auto now = Clock::now();
            if (deadline == Clock::time_point{})
                deadline = now + std::chrono::milliseconds(std::min(milliseconds, kLongest));
            if (now >= deadline) break;
        }
        is_news_ = false;
        return false;
    }

    void wake() override { woken_ = true; }

    void tell(const std::string &reason) override {
        if (has_told_) return;
        has_told_ = true;
        if (!reason.empty())
            for (size_t peer = 0; peer < gone_.size(); ++peer) look_after(peer);
        const Word word = make_word(reason);
        for (int peer : reachable_)
            mpi_.post(members_.processes[size_t(peer)], tag_ + 1, &word, sizeof word);
        if (!reason.empty()) mpi_.note_failure();
        mpi_.remove_farewell(&farewell_);  // it has been sent
        give_up();
    }

    bool reads_late() const override { return true; }

    std::string gone(int peer) override {
        const size_t at = size_t(peer);
        if (!gone_[at].empty()) return gone_[at];
        // Everything that it sent before it left has arrived: pending receives have been tested
        // since.
        if (rounds_since_leave_[at] >= 3) note(at, " has left the communicator");
        look_after(at);
        return gone_[at];
    }

    std::string told() override { return told_; }

private:
    using Handle = MpiLibrary::Handle;

    struct Active {
        Transfer *transfer;
        Handle request;
    };

    Word make_word(const std::string &reason) const {
        Word word{};
        word.magic = kLinkMagic;
        word.rank = me_;
        word.failed = !reason.empty();
        word.lost = lost_;
        snprintf(word.reason, sizeof word.reason, "%s", reason.c_str());
        return word;
    }

    void note(size_t peer, const std::string &what) {
        if (gone_[peer].empty()) gone_[peer] = "rank " + std::to_string(peer) + what;
    }
    void note_end() {
        for (size_t peer = 0; peer < gone_.size(); ++peer)
            note(peer, " cannot be reached: MPI has been ended in this process");
        is_news_ = true;
    }
    // Whether a rank is still alive.
    void look_after(size_t peer) {
        if (int(peer) == me_ || lost_[peer] || !has_died(peer)) return;
        for (int i = 0; i < 3; ++i) test_all();  // what it sent before has arrived
        note_death(peer);
    }
    void note_death(size_t peer) {
        note(peer, " (process " + std::to_string(members_.numbers[peer]) + ") has died");
        lose(peer);
        mpi_.note_loss();
    }
    void lose(size_t peer) {
        lost_[peer] = true;
        reachable_.erase(int(peer));
        unheard_.erase(int(peer));
    }
    void note_error(size_t peer, int code) {
        mpi_.note_failure();
        is_news_ = true;
        if (has_died(peer)) return note_death(peer);
        lose(peer);
        note(peer, " cannot be reached over MPI any more (" + lib_.error_text(code) + ")");
    }

    bool has_died(size_t peer) const {
        if (!is_neighbour_[peer]) return false;
        auto seat = std::make_unique<Seat>();
        seat->process = members_.numbers[peer];
        seat->process_start = members_.starts[peer];
        seat->process_space = members_.spaces[peer];
        return !is_alive(*seat);
    }

    bool test_all() {
        bool moved = false;
        auto mine = mpi_.turn();
        if (!mine) {
            note_end();
            return false;
        }
        for (size_t i = 0; i < active_.size();) {
            Transfer &transfer = *active_[i].transfer;
            alignas(16) unsigned char status[256];  // larger than any MPI's
            int done = 0;
            const int code = lib_.Test(&active_[i].request, &done, status);
            if (code == 0 && !done) {
                ++i;
                continue;
            }
            active_.erase(active_.begin() + ptrdiff_t(i));
            if (code != 0) {
                note_error(size_t(transfer.peer), code);
                continue;
            }
            int count = int(transfer.bytes);
            if (!transfer.sends) lib_.Get_count(status, lib_.byte, &count);
            transfer.came = size_t(count);
            transfer.done = moved = true;
        }
        for (int &rounds : rounds_since_leave_) {
            rounds += rounds > 0 && rounds < 4;
            if (rounds == 3) is_news_ = true;
        }
        return moved;
    }

    void listen() {
        Word word;
        if (!mpi_.take(lib_.any_source, tag_ + 1, &word, sizeof word)) return;
        if (word.magic != kLinkMagic || word.rank < 0 || size_t(word.rank) >= gone_.size()) return;
        word.reason[sizeof word.reason - 1] = 0;
        unheard_.erase(word.rank);
        for (size_t peer = 0; peer < gone_.size(); ++peer)
            if (word.lost[peer] && int(peer) != me_) lose(peer);
        if (word.lost.any()) mpi_.note_loss();
        if (word.failed) {
            if (told_.empty()) told_ = word.reason;
            is_news_ = true;
            mpi_.note_failure();
        } else if (rounds_since_leave_[size_t(word.rank)] == 0) {
            rounds_since_leave_[size_t(word.rank)] = 1;
        }
    }

    // Cancels messages that will not arrive any more. One that is just arriving gets a moment to
    // complete: the caller owns its memory again after this.
    void give_up() {
        if (active_.empty()) return;
        mpi_.note_failure();
        {
            auto mine = mpi_.turn();
            if (!mine) return active_.clear();
            for (Active &active : active_)
                if (!active.transfer->sends) lib_.Cancel(&active.request);
        }
        const auto begin = Clock::now();
        const auto over = [&] {
            const auto waited = Clock::now() - begin;
            const bool receives =
                std::any_of(active_.begin(), active_.end(),
                            [](const Active &one) { return !one.transfer->sends; });
            return waited > (receives ? std::chrono::seconds(2) : std::chrono::milliseconds(200));
        };
        for (Idling idling; !active_.empty() && !over(); idling.pause()) test_all();
        auto mine = mpi_.turn();
        for (Active &active : active_)
            if (mine) lib_.Request_free(&active.request);
        active_.clear();
    }

    MpiProcess &mpi_;
    const MpiLibrary &lib_;
    const int me_, tag_;
    const MpiMembers members_;
    std::vector<bool> is_neighbour_;  // by rank: on this host
    std::set<int> reachable_;         // ranks that get the messages of this one
    std::set<int> unheard_;  // ranks without a final message yet: each sends one, when it leaves
    std::vector<Active> active_;
    std::vector<std::string> gone_;        // by rank: why it sends nothing more
    std::vector<int> rounds_since_leave_;  // by rank; 0: it has not left
    std::bitset<kMostRanks> lost_;         // dead ranks
    std::string told_;
    std::atomic<bool> woken_ = false;
    bool is_news_ = false;  // a condition for the caller to handle
    bool has_told_ = false;
    unsigned rounds_ = 0;
    Idling idling_;
    MpiProcess::Farewell farewell_;
};

}  // namespace

std::unique_ptr<Links> make_mpi_links(MpiProcess &mpi, int rank, const std::vector<Member> &table,
                                      MpiMembers members) {
    return std::make_unique<MpiLinks>(mpi, rank, table, std::move(members));
}

}  // namespace infini::cpu::collectives
