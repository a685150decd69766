// The collectives of one host.
//
// In one process, ranks read each other's buffers, so nothing is copied unnecessarily. Between
// processes they write chunks of their buffers to shared memory, double-buffered, so that one is
// filled while the other is read. Small data is sent with the announcement, which takes a single
// barrier.
#include <algorithm>
#include <cstring>

#include "buffers.h"

namespace infini::cpu::collectives {

// One collective of one rank.
class Exchange : Buffers {
public:
    Exchange(SharedCommunicator &communicator, const InfiniCollective &work,
             const Announcement &announced)
        : Buffers(work),
          c_(communicator),
          announced_(announced),
          world_(communicator.world()),
          me_(communicator.rank_),
          ranks_(world_.ranks()),
          page_(communicator.number_ % 2),
          patience_(world_, me_, communicator.timeout_.load()) {
        reduce_ = is_reduction(w_.kind) ? find_reduce(w_.dtype, w_.op) : nullptr;
    }

    bool run() {
        announce();
        const bool small = is_small();
        if (small) put_small();
        if (!meet() || !agree() || !agree_on_counts()) return false;
        ++c_.number_;
        if (small) {
            take([&](int from) { return world_.seat(from).page[page_].small; });
            return true;
        }
        return c_.direct_ ? run_direct() : run_staged();
    }

private:
    bool i_send() const {
        return !(w_.kind == INFINI_BROADCAST || w_.kind == INFINI_SCATTER) || me_ == w_.root;
    }
    bool i_receive() const {
        return !(w_.kind == INFINI_REDUCE || w_.kind == INFINI_GATHER) || me_ == w_.root;
    }
    bool has_parts_to_send() const {
        return w_.kind == INFINI_REDUCE_SCATTER || w_.kind == INFINI_SCATTER ||
               w_.kind == INFINI_ALL_TO_ALL;
    }
    // The total that rank `from` sends.
    size_t sent_by(int from) const {
        if (w_.kind == INFINI_ALL_TO_ALL && w_.send_counts) {
            const uint64_t *counts = world_.seat(from).page[page_].send_counts;
            size_t sum = 0;
            for (int i = 0; i < ranks_; ++i) sum += counts[i];
            return sum;
        }
        if (has_parts_to_send()) return part_begin(w_.send_counts, ranks_);
        return w_.kind == INFINI_ALL_GATHER ? part(w_.recv_counts, from) : w_.count;
    }

    // ---- Meeting --------------------------------------------------------------------------------

    void announce() {
        Seat::Page &page = world_.seat(me_).page[page_];
        page.announced = announced_;
        page.send = w_.send;
        page.recv = w_.recv;
        if (w_.kind == INFINI_ALL_TO_ALL && w_.send_counts)
            std::copy(w_.send_counts, w_.send_counts + ranks_, page.send_counts);
    }

    bool meet() {
        Seat &mine = world_.seat(me_);
        const uint32_t phase = ++c_.phase_;
        patience_.restart();
        mine.phase.store(phase);
        Patience::wake(mine.phase, mine.sleepers, world_.is_shared());
        for (int i = 1; i < ranks_; ++i) {
            const int other = (me_ + i) % ranks_;
            Seat &seat = world_.seat(other);
            auto came = [&] {
                return int32_t(seat.phase.load(std::memory_order_acquire) - phase) >= 0;
            };
            if (came()) continue;
            if (!patience_.wait(other, seat.phase, seat.sleepers, purpose(),
                                [&] { return came() || world_.failed(); }))
                return false;
            if (!came()) return false;
        }
        return true;
    }

    const char *purpose() const { return kind_name(announced_.kind); }

    // Checks that all ranks do the same.
    bool agree() {
        for (int i = 0; i < ranks_; ++i) {
            const Announcement &other = world_.seat(i).page[page_].announced;
            if (std::memcmp(&other, &announced_, sizeof other) == 0) continue;
            const int name = world_.name(i), mine = world_.name(me_);
            world_.fail(name < mine ? difference(name, other, mine, announced_)
                                    : difference(mine, announced_, name, other));
            return false;
        }
        return true;
    }

    // Checks that the others send what this rank expects. Nobody reads data before all have
    // checked.
    bool agree_on_counts() {
        if (w_.kind != INFINI_ALL_TO_ALL || !w_.send_counts) return true;
        for (int i = 0; i < ranks_; ++i) {
            const size_t given = counts_of(i)[me_], wanted = w_.recv_counts[i];
            if (given == wanted) continue;
            world_.fail("rank " + std::to_string(world_.name(i)) + " has " + std::to_string(given) +
                        " elements for rank " + std::to_string(world_.name(me_)) +
                        " in AllToAll, which expects " + std::to_string(wanted));
            return false;
        }
        return meet();
    }

    // ---- Small data --------------------------------------------------------------------------

    bool is_small() const {
        if (w_.kind == INFINI_ALL_TO_ALL && w_.send_counts) return false;  // others can't tell
        size_t most = 0;
        for (int i = 0; i < ranks_; ++i) most = std::max(most, sent_by(i) * size_);
        return most <= kSmall;
    }
    void put_small() {
        const size_t bytes = sent_by(me_) * size_;
        if (i_send() && bytes) std::memcpy(world_.seat(me_).page[page_].small, send(), bytes);
    }

    // ---- Receiving, where at(rank) is all data of a rank ------------------------------------

    template <class At>
    void take(const At &at) {
        if (!i_receive()) return;
        switch (w_.kind) {
            case INFINI_ALL_REDUCE:
            case INFINI_REDUCE:
                combine(recv(), at, 0, w_.count);
                break;
            case INFINI_REDUCE_SCATTER:
                combine(recv(), at, part_begin(w_.send_counts, me_), part(w_.send_counts, me_));
                break;
            case INFINI_BROADCAST:
                copy(recv(), at(w_.root), w_.count);
                break;
            case INFINI_SCATTER:
                copy(recv(), at(w_.root) + part_begin(nullptr, me_) * size_, w_.count);
                break;
            case INFINI_ALL_GATHER:
            case INFINI_GATHER:
                for (int i = 0; i < ranks_; ++i)
                    copy(recv() + part_begin(w_.recv_counts, i) * size_, at(i),
                         part(w_.recv_counts, i));
                break;
            case INFINI_ALL_TO_ALL:
                for (int i = 0; i < ranks_; ++i)
                    copy(recv() + part_begin(w_.recv_counts, i) * size_,
                         at(i) + part_begin(counts_of(i), me_) * size_, part(w_.recv_counts, i));
                break;
            default:
                break;
        }
    }

    const size_t *counts_of(int rank) const {
        static_assert(sizeof(size_t) == sizeof(uint64_t));
        if (!w_.send_counts) return nullptr;
        return reinterpret_cast<const size_t *>(world_.seat(rank).page[page_].send_counts);
    }

    void copy(void *to, const void *from, size_t count) const {
        if (count && to != from) std::memmove(to, from, count * size_);
    }

    // Elements [begin, begin + count) of all ranks, to `to`.
    template <class At>
    void combine(Bytes *to, const At &at, size_t begin, size_t count) const {
        const void *from[kMostRanks];
        for (int i = 0; i < ranks_; ++i) from[i] = at(i) + begin * size_;
        if (count) reduce_(to, from, ranks_, count);
    }

    // ---- In one process -------------------------------------------------------------------------

    bool run_direct() {
        auto sent = [&](int rank) {
            return static_cast<const Bytes *>(world_.seat(rank).page[page_].send);
        };
        auto received = [&](int rank) {
            return static_cast<Bytes *>(world_.seat(rank).page[page_].recv);
        };
        if (w_.kind == INFINI_ALL_REDUCE || w_.kind == INFINI_REDUCE) {
            // Each rank combines a share: nobody else reads that part of any buffer before all are
            // done, so results may overwrite the input.
            const size_t begin = share_begin(w_.count, me_, ranks_);
            const size_t end = share_begin(w_.count, me_ + 1, ranks_);
            Bytes *to = w_.kind == INFINI_REDUCE ? received(w_.root) : recv();
            combine(to + begin * size_, sent, begin, end - begin);
            if (w_.kind == INFINI_REDUCE) return meet();
            if (!meet()) return false;
            for (int i = 1; i < ranks_; ++i) {
                const int other = (me_ + i) % ranks_;
                const size_t from = share_begin(w_.count, other, ranks_);
                const size_t to_end = share_begin(w_.count, other + 1, ranks_);
                copy(recv() + from * size_, received(other) + from * size_, to_end - from);
            }
            return meet();
        }
        take(sent);
        return meet();  // nobody modifies what others still read
    }

    // ---- Between processes ----------------------------------------------------------------------

    bool run_staged() {
        if (!world_.open_pieces(me_)) return false;
        switch (w_.kind) {
            case INFINI_ALL_REDUCE:
            case INFINI_REDUCE:
                return reduce_staged();
            case INFINI_REDUCE_SCATTER:
            case INFINI_SCATTER:
            case INFINI_ALL_TO_ALL:
                return parts_staged();
            default:
                return whole_staged();
        }
    }

    Bytes *mine() { return world_.piece(me_, c_.turn_); }

    // Each rank combines a share of the chunk: it writes the parts that others combine, reads the
    // rest in place, and writes its result.
    bool reduce_staged() {
        const size_t room = kPiece / size_;
        for (size_t at = 0; at < w_.count; at += room, ++c_.turn_) {
            const size_t count = std::min(room, w_.count - at);
            const size_t begin = share_begin(count, me_, ranks_);
            const size_t end = share_begin(count, me_ + 1, ranks_);
            const Bytes *own = send() + at * size_;
            std::memcpy(mine(), own, begin * size_);
            std::memcpy(mine() + end * size_, own + end * size_, (count - end) * size_);
            if (!meet()) return false;
            auto piece = [&](int rank) { return world_.piece(rank, c_.turn_); };
            auto sent = [&](int rank) { return rank == me_ ? own : piece(rank); };
            Bytes *result = (i_receive() ? recv() + at * size_ : mine()) + begin * size_;
            combine(result, sent, begin, end - begin);
            if (w_.kind == INFINI_ALL_REDUCE) copy(mine() + begin * size_, result, end - begin);
            if (!meet()) return false;
            for (int i = 0; i_receive() && i < ranks_; ++i) {
                if (i == me_) continue;
                const size_t from = share_begin(count, i, ranks_);
                const size_t to = share_begin(count, i + 1, ranks_);
                copy(recv() + (at + from) * size_, piece(i) + from * size_, to - from);
            }
        }
        return true;
    }

    // Every rank gets the same data from each sender: broadcast, gather, all-gather.
    bool whole_staged() {
        const size_t room = kPiece / size_;
        const int first = w_.kind == INFINI_BROADCAST ? w_.root : 0;
        const int last = w_.kind == INFINI_BROADCAST ? w_.root + 1 : ranks_;
        size_t most = 0;
        for (int i = first; i < last; ++i) most = std::max(most, sent_by(i));
        auto length = [&](int rank, size_t at) {
            return std::min(room, sent_by(rank) - std::min(at, sent_by(rank)));
        };
        for (size_t at = 0; at < most; at += room, ++c_.turn_) {
            if (i_send() && length(me_, at))
                std::memcpy(mine(), send() + at * size_, length(me_, at) * size_);
            if (!meet()) return false;
            for (int i = first; i_receive() && i < last; ++i) {
                const size_t place =
                    w_.kind == INFINI_BROADCAST ? 0 : part_begin(w_.recv_counts, i);
                copy(recv() + (place + at) * size_,
                     i == me_ ? send() + at * size_ : world_.piece(i, c_.turn_), length(i, at));
            }
        }
        return true;
    }

    // Every rank gets a different part: a chunk holds a portion of each part.
    bool parts_staged() {
        const size_t room = kPiece / size_ / size_t(ranks_);
        size_t most = 0;
        for (int from = 0; from < ranks_; ++from)
            for (int to = 0; to < ranks_; ++to) most = std::max(most, part_between(from, to));
        auto length = [&](int from, int to, size_t at) {
            const size_t all = part_between(from, to);
            return std::min(room, all - std::min(at, all));
        };
        for (size_t at = 0; at < most; at += room, ++c_.turn_) {
            for (int to = 0; i_send() && to < ranks_; ++to)
                if (const size_t count = length(me_, to, at))
                    std::memcpy(mine() + size_t(to) * room * size_,
                                send() + (part_begin(w_.send_counts, to) + at) * size_,
                                count * size_);
            if (!meet()) return false;
            auto piece = [&](int rank) {
                return world_.piece(rank, c_.turn_) + size_t(me_) * room * size_;
            };
            if (w_.kind == INFINI_REDUCE_SCATTER)
                combine(recv() + at * size_, piece, 0, length(me_, me_, at));
            else if (w_.kind == INFINI_SCATTER)
                copy(recv() + at * size_, piece(w_.root), length(w_.root, me_, at));
            else
                for (int from = 0; from < ranks_; ++from)
                    copy(recv() + (part_begin(w_.recv_counts, from) + at) * size_, piece(from),
                         length(from, me_, at));
        }
        return true;
    }

    size_t part_between(int from, int to) const {
        if (w_.kind == INFINI_ALL_TO_ALL) return part(counts_of(from), to);
        return part(w_.send_counts, to);
    }

    SharedCommunicator &c_;
    const Announcement announced_;
    World &world_;
    const int me_, ranks_;
    const size_t page_;
    Patience patience_;
    Reduce reduce_ = nullptr;
};

bool SharedCommunicator::collective(const InfiniCollective &work, const Announcement &announced) {
    return Exchange(*this, work, announced).run();
}

bool SharedCommunicator::run(const InfiniCollective *work, size_t count) {
    std::lock_guard guard(lock_);
    std::vector<const InfiniCollective *> messages;
    for (size_t i = 0; i < count; ++i) {
        if (world().failed()) return false;
        if (work[i].kind == INFINI_SEND || work[i].kind == INFINI_RECEIVE)
            messages.push_back(&work[i]);
        else if (!collective(work[i], announcement_of(work[i], world().ranks(), number_)))
            return false;
    }
    return messages.empty() ||
           exchange_messages(world(), rank_, timeout_.load(), direct_, messages);
}

}  // namespace infini::cpu::collectives
