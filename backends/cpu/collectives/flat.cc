#include "flat.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <optional>

#include "buffers.h"
#include "reduce.h"

namespace infini::cpu::collectives {
namespace {

// One collective of one member. Ranks here are positions among the members.
class Flat : Buffers {
public:
    Flat(Network &network, const std::vector<int> &members, const InfiniCollective &work,
         const Announcement &announced, double timeout)
        : Buffers(work),
          network_(network),
          members_(members),
          announced_(announced),
          session_(network, timeout, kind_name(announced.kind), &announced),
          me_(int(std::find(members.begin(), members.end(), network.rank) - members.begin())),
          ranks_(int(members.size())) {
        reduce_ = is_reduction(w_.kind) ? find_reduce(w_.dtype, w_.op) : nullptr;
        // Small enough to reduce in caches while more data arrives, and for progress to be visible
        // on a slow network. A multiple of every element size.
        auto piece = [&](size_t all, size_t most) {
            return std::clamp<size_t>(all / size_t(ranks_), 32 << 10, most) & ~size_t(4095);
        };
        moved_ = piece(8 << 20, 4 << 20);
        piece_ = reduce_ ? piece(2 << 20, 1 << 20) : moved_;
        plan();
    }

    bool run() {
        open();
        return (reduce_ ? reduce_arriving() : move_arriving()) && second_round() &&
               session_.finish();
    }

private:
    bool has_root() const {
        return w_.kind == INFINI_BROADCAST || w_.kind == INFINI_SCATTER || w_.kind == INFINI_GATHER;
    }
    // Buffers that hold nothing may be null.
    template <class B>
    static B *at(B *buffer, size_t bytes) {
        return buffer ? buffer + bytes : nullptr;
    }
    // The other ranks, in a different order on each rank, so that not all contact the same one
    // first.
    int other(int i) const { return (me_ + i) % ranks_; }

    // ---- Who sends what to whom in the first round ----------------------------------------------

    struct Exchange {
        bool speaks = false, listens = false;
        const Bytes *out = nullptr;
        Bytes *in = nullptr;  // null: into a reduction
        size_t out_bytes = 0, in_bytes = 0;
        Transfer *opening = nullptr;  // that is expected
    };

    // The shares of a buffer that is divided among `shares` ranks.
    void cut(size_t count, int shares) {
        begins_.resize(size_t(shares) + 1);
        for (int i = 0; i <= shares; ++i)
            begins_[size_t(i)] = share_begin(count, i, shares) * size_;
    }
    size_t share_bytes(int i) const { return begins_[size_t(i) + 1] - begins_[size_t(i)]; }

    void plan() {
        plan_.resize(size_t(ranks_));
        const size_t whole = w_.count * size_;
        // Two ranks send the same amount if each combines everything, and need only one round.
        shared_ = is_reduction(w_.kind) && w_.kind != INFINI_REDUCE_SCATTER &&
                  whole > (ranks_ == 2 ? kWhole : kEager);
        // With few ranks the root sends everything itself.
        spread_ = w_.kind == INFINI_BROADCAST && ranks_ > 3 && whole > kEager;
        if (shared_) cut(w_.count, ranks_);
        if (spread_) cut(w_.count, ranks_ - 1);
        for (int i = 0; i < ranks_; ++i) {
            if (i == me_) continue;
            Exchange &with = plan_[size_t(i)];
            const bool star = has_root() || (w_.kind == INFINI_REDUCE && !shared_);
            if (star && i != w_.root && me_ != w_.root) continue;
            plan_with(i, with);
            with.speaks = with.listens = true;
            size_t &ahead = network_.desk(members_[size_t(i)]).ahead;
            const bool from_root = w_.kind == INFINI_BROADCAST || w_.kind == INFINI_SCATTER;
            const size_t bytes = with.out_bytes + with.in_bytes;
            if (!from_root || bytes == 0 || bytes > kEager ||
                (ahead += std::max(bytes, kLeastAhead)) > kAhead) {
                ahead = 0;
                continue;
            }
            with.speaks = me_ == w_.root;
            with.listens = !with.speaks;
        }
    }

    void plan_with(int i, Exchange &with) {
        const size_t whole = w_.count * size_;
        const bool to_root = i == w_.root, from_root = me_ == w_.root;
        switch (w_.kind) {
            case INFINI_ALL_REDUCE:
            case INFINI_REDUCE:
                if (shared_) {
                    with.out = at(send(), begins_[size_t(i)]);
                    with.out_bytes = share_bytes(i);
                    with.in_bytes = share_bytes(me_);
                } else {
                    with.out = send();
                    with.out_bytes = w_.kind == INFINI_ALL_REDUCE || to_root ? whole : 0;
                    with.in_bytes = w_.kind == INFINI_ALL_REDUCE || from_root ? whole : 0;
                }
                break;
            case INFINI_REDUCE_SCATTER:
                with.out = at(send(), part_begin(w_.send_counts, i) * size_);
                with.out_bytes = part(w_.send_counts, i) * size_;
                with.in_bytes = part(w_.send_counts, me_) * size_;
                break;
            case INFINI_BROADCAST: {
                const size_t mine = spread_ ? begins_[size_t(place(me_))] : 0;
                const size_t theirs = spread_ ? begins_[size_t(place(i))] : 0;
                with.out = at(send(), theirs);
                with.in = at(recv(), mine);
                if (from_root) with.out_bytes = spread_ ? share_bytes(place(i)) : whole;
                if (to_root) with.in_bytes = spread_ ? share_bytes(place(me_)) : whole;
                break;
            }
            case INFINI_SCATTER:
                with.out = at(send(), whole * size_t(i));
                with.in = recv();
                with.out_bytes = from_root ? whole : 0;
                with.in_bytes = to_root ? whole : 0;
                break;
            case INFINI_GATHER:
                with.out = send();
                with.in = at(recv(), whole * size_t(i));
                with.out_bytes = to_root ? whole : 0;
                with.in_bytes = from_root ? whole : 0;
                break;
            case INFINI_ALL_GATHER:
                with.out = send();
                with.in = at(recv(), part_begin(w_.recv_counts, i) * size_);
                with.out_bytes = part(w_.recv_counts, me_) * size_;
                with.in_bytes = part(w_.recv_counts, i) * size_;
                break;
            case INFINI_ALL_TO_ALL:
                with.out = at(send(), part_begin(w_.send_counts, i) * size_);
                with.in = at(recv(), part_begin(w_.recv_counts, i) * size_);
                with.out_bytes = part(w_.send_counts, i) * size_;
                with.in_bytes = part(w_.recv_counts, i) * size_;
                break;
            default:
                break;
        }
    }
    // The index of a rank other than the root among those.
    int place(int rank) const { return rank > w_.root ? rank - 1 : rank; }

    // ---- The first round ------------------------------------------------------------------------

    // Announces what this rank is about to do, with a little data.
    void open() {
        for (int i = 1; i < ranks_; ++i) {
            const int rank = members_[size_t(other(i))];
            Exchange &with = plan_[size_t(other(i))];
            if (!with.listens) continue;
            Network::Desk::Page &page = network_.desk(rank).in;
            with.opening = &session_.receive(rank, &page, sizeof page);
        }
        for (int i = 1; i < ranks_; ++i) {
            const int rank = members_[size_t(other(i))];
            const Exchange &with = plan_[size_t(other(i))];
            if (!with.speaks) continue;
            Network::Desk::Page &page = network_.desk(rank).out;
            page.opening = {kOpeningMagic, with.out_bytes, announced_};
            size_t bytes = offsetof(Network::Desk::Page, data);
            if (with.out_bytes && with.out_bytes <= kEager) {
                std::memcpy(page.data, with.out, with.out_bytes);
                bytes += with.out_bytes;
            }
            session_.send(rank, &page, bytes);
        }
        own_part();
    }

    // Sends what did not fit into the opening, only to ranks that have arrived: the network reads a
    // message at any time after it was begun, but after giving up, the caller owns the memory
    // again.
    void begin_sending(int peer) {
        const Exchange &with = plan_[size_t(peer)];
        if (with.out_bytes <= kEager) return;
        const int rank = members_[size_t(peer)];
        out_.emplace_back(session_, rank, true, with.out, with.out_bytes, piece_).advance();
    }

    // True when the message of another rank has arrived. A mismatch ends the session, and never
    // arrives.
    bool has_opened(int peer) {
        Exchange &with = plan_[size_t(peer)];
        if (!with.opening) return true;
        if (!with.opening->done || network_.fate.failed() || !agree(peer, *with.opening))
            return false;
        with.opening = nullptr;
        begin_sending(peer);
        return true;
    }

    bool agree(int peer, const Transfer &transfer) {
        const int rank = members_[size_t(peer)], low = std::min(rank, network_.rank);
        const Opening &opening = network_.desk(rank).in.opening;
        const size_t expected = plan_[size_t(peer)].in_bytes;
        if (transfer.came < sizeof opening || opening.magic != kOpeningMagic)
            return session_.fail("rank " + std::to_string(rank) +
                                 " is in another operation than rank " +
                                 std::to_string(network_.rank) + ", which called " +
                                 kind_name(announced_.kind) + ": all ranks must call the same");
        if (std::memcmp(&opening.announced, &announced_, sizeof announced_) != 0) {
            const bool mine_first = low == network_.rank;
            return session_.fail(difference(low, mine_first ? announced_ : opening.announced,
                                            mine_first ? rank : network_.rank,
                                            mine_first ? opening.announced : announced_));
        }
        if (opening.bytes == expected) return true;
        return session_.fail("rank " + std::to_string(rank) + " has " +
                             std::to_string(opening.bytes / size_) + " elements for rank " +
                             std::to_string(network_.rank) + " in " + kind_name(announced_.kind) +
                             ", which expects " + std::to_string(expected / size_));
    }

    // Receives each peer's data directly at its destination, once its opening has been checked.
    bool move_arriving() {
        std::list<Flow> in;
        return session_.until([&] {
            bool opened = true;
            for (int i = 1; i < ranks_; ++i) {
                const Exchange &with = plan_[size_t(other(i))];
                if (!with.opening) continue;
                if (!has_opened(other(i))) {
                    opened = false;
                    continue;
                }
                const int rank = members_[size_t(other(i))];
                if (with.in_bytes > kEager)
                    in.emplace_back(session_, rank, false, with.in, with.in_bytes, piece_);
                else if (with.in_bytes)
                    std::memcpy(with.in, network_.desk(rank).in.data, with.in_bytes);
            }
            const bool sent = advance(out_), came = advance(in);
            return opened && sent && came;
        });
    }

    // To itself.
    void own_part() {
        const Bytes *from = send();
        Bytes *to = recv();
        size_t count = w_.count;
        switch (w_.kind) {
            case INFINI_BROADCAST:
                if (me_ != w_.root) return;
                break;
            case INFINI_SCATTER:
                if (me_ != w_.root) return;
                from = at(from, w_.count * size_ * size_t(me_));
                break;
            case INFINI_GATHER:
                if (me_ != w_.root) return;
                to = at(to, w_.count * size_ * size_t(me_));
                break;
            case INFINI_ALL_GATHER:
                to = at(to, part_begin(w_.recv_counts, me_) * size_);
                count = part(w_.recv_counts, me_);
                break;
            case INFINI_ALL_TO_ALL:
                from = at(from, part_begin(w_.send_counts, me_) * size_);
                to = at(to, part_begin(w_.recv_counts, me_) * size_);
                count = part(w_.send_counts, me_);
                break;
            default:
                return;
        }
        if (count && to != from) std::memmove(to, from, count * size_);
    }

    // True: all of them are done.
    static bool advance(std::list<Flow> &flows) {
        bool done = true;
        for (Flow &flow : flows) {
            flow.advance();
            done &= flow.done();
        }
        return done;
    }

    // Combines what the others have sent, chunk by chunk while more arrives.
    bool reduce_arriving() {
        constexpr size_t kRing = 2;
        const size_t mine = part_of_reduction();
        const Bytes *own = at(send(), own_offset());
        Bytes *to = result();
        std::vector<const void *> from(static_cast<size_t>(ranks_));
        if (mine <= kEager) {
            const bool opened = session_.until([&] {
                advance(out_);
                for (int i = 0; i < ranks_; ++i)
                    if (!has_opened(i)) return false;
                return true;
            });
            if (!opened) return false;
            // What is overwritten has been sent: ranks that get all of it have it in their
            // openings.
            for (int i = 0; i < ranks_; ++i)
                from[size_t(i)] = i == me_ ? own : network_.desk(members_[size_t(i)]).in.data;
            if (mine) reduce_(to, from.data(), ranks_, mine / size_);
            return session_.until([&] { return advance(out_); });
        }
        if (network_.staging.size() < size_t(ranks_) * kRing * piece_)
            network_.staging.resize(size_t(ranks_) * kRing * piece_);
        auto staged = [&](int i) { return network_.staging.data() + size_t(i) * kRing * piece_; };
        std::vector<std::optional<Flow>> in(static_cast<size_t>(ranks_));
        size_t combined = 0;
        const size_t pieces = (mine + piece_ - 1) / piece_;
        // Whole buffers are combined in the place that they are sent from.
        const bool in_place = !shared_ && w_.kind != INFINI_REDUCE_SCATTER && to == own;
        return session_.until([&] {
            const bool sent = advance(out_);
            size_t ready = pieces;
            if (in_place)
                for (const Flow &flow : out_) ready = std::min(ready, flow.pieces_done());
            for (int i = 1; i < ranks_; ++i) {
                std::optional<Flow> &flow = in[size_t(other(i))];
                if (!flow) {
                    ready = 0;
                    if (!has_opened(other(i))) continue;
                    flow.emplace(session_, members_[size_t(other(i))], false, staged(other(i)),
                                 mine, piece_, kRing);
                }
                flow->advance(combined + kRing);
                ready = std::min(ready, flow->pieces_done());
            }
            for (; combined < ready; ++combined) {
                const size_t at = combined * piece_, bytes = std::min(piece_, mine - at);
                for (int i = 0; i < ranks_; ++i)
                    from[size_t(i)] = i == me_ ? own + at : staged(i) + combined % kRing * piece_;
                reduce_(to + at, from.data(), ranks_, bytes / size_);
            }
            for (std::optional<Flow> &flow : in)
                if (flow) flow->advance(combined + kRing);
            return sent && combined == pieces;
        });
    }

    // The reduction, in bytes: how much this rank combines, and its offset in the buffer.
    size_t part_of_reduction() const {
        if (w_.kind == INFINI_REDUCE_SCATTER) return part(w_.send_counts, me_) * size_;
        if (shared_) return share_bytes(me_);
        return w_.kind == INFINI_ALL_REDUCE || me_ == w_.root ? w_.count * size_ : 0;
    }
    size_t own_offset() const {
        if (w_.kind == INFINI_REDUCE_SCATTER) return part_begin(w_.send_counts, me_) * size_;
        return shared_ ? begins_[size_t(me_)] : 0;
    }
    // The destination of combined elements: ranks that receive nothing need memory for their share.
    Bytes *result() {
        if (w_.kind == INFINI_REDUCE_SCATTER) return recv();
        if (w_.kind != INFINI_REDUCE || me_ == w_.root) return at(recv(), own_offset());
        if (shared_) scratch_.resize(share_bytes(me_));
        return scratch_.data();
    }

    // ---- The second round: shares go to all who need them --------------------------------------

    bool second_round() {
        if (!shared_ && !spread_) return true;
        out_.clear();
        std::list<Flow> in;
        if (spread_ && me_ == w_.root) return true;
        for (int i = 1; i < ranks_; ++i) {
            const int peer = other(i), rank = members_[size_t(peer)];
            if (spread_ && peer == w_.root) continue;
            const int mine = spread_ ? place(me_) : me_, theirs = spread_ ? place(peer) : peer;
            const bool gives = w_.kind != INFINI_REDUCE || peer == w_.root;
            const bool takes = w_.kind != INFINI_REDUCE || me_ == w_.root;
            const Bytes *from =
                w_.kind == INFINI_REDUCE ? scratch_.data() : recv() + begins_[size_t(mine)];
            if (gives && share_bytes(mine))
                out_.emplace_back(session_, rank, true, from, share_bytes(mine), moved_);
            if (takes && share_bytes(theirs))
                in.emplace_back(session_, rank, false, recv() + begins_[size_t(theirs)],
                                share_bytes(theirs), moved_);
        }
        return session_.until([&] {
            const bool sent = advance(out_), came = advance(in);
            return sent && came;
        });
    }

    Network &network_;
    const std::vector<int> &members_;
    const Announcement &announced_;
    Session session_;
    const int me_, ranks_;
    Reduce reduce_ = nullptr;
    size_t piece_, moved_;  // bytes of a message in the first and the second round
    bool shared_ = false;   // each rank combines a share of the buffer, then all exchange these
    bool spread_ = false;   // the root gives each rank a share, and they exchange these
    std::vector<Exchange> plan_;
    std::list<Flow> out_;
    std::vector<size_t> begins_;  // of shares, in bytes
    std::vector<Bytes> scratch_;
};

}  // namespace

bool run_flat(Network &network, const std::vector<int> &members, const InfiniCollective &work,
              const Announcement &announced, double timeout) {
    return Flat(network, members, work, announced, timeout).run();
}

}  // namespace infini::cpu::collectives
