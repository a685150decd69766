#include "flat.h"

#include <algorithm>
#include <cstring>
#include <list>

#include "buffers.h"
#include "reduce.h"

namespace infini::cpu::collectives {
namespace {

size_t share_begin(size_t count, int index, int shares) {
    constexpr size_t kLine = 64;  // whole lines of the smallest element, for aligned pieces
    const size_t lines = (count + kLine - 1) / kLine;
    return std::min(count, lines * size_t(index) / size_t(shares) * kLine);
}

// One collective of one member. Positions among the members are called ranks here, too.
class Flat : Buffers {
public:
    Flat(Network &network, const std::vector<int> &members, const InfiniCollective &work,
         const Announcement &announced, double timeout)
        : Buffers(work),
          network_(network),
          members_(members),
          announced_(announced),
          session_(network, timeout, kind_name(announced.kind)),
          me_(int(std::find(members.begin(), members.end(), network.rank) - members.begin())),
          ranks_(int(members.size())) {
        reduce_ = is_reduction(w_.kind) ? find_reduce(w_.dtype, w_.op) : nullptr;
        // Large enough to move fast, small enough for many ranks, and for reducing while others
        // come. Whole elements of any type, too.
        piece_ =
            std::clamp<size_t>((2 << 20) / size_t(ranks_), 32 << 10, 512 << 10) & ~size_t(4095);
        begins_.resize(size_t(ranks_) + 1);
        plan();
    }

    bool run() {
        if (!open()) return false;
        return finish_exchange() && second_round() && session_.finish();
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
    // Others in an order of one's own, so that not all talk to the same one.
    int other(int i) const { return (me_ + i) % ranks_; }

    // ---- Who sends what to whom in the first round ----------------------------------------------

    struct Exchange {
        bool talks = false;
        const Bytes *out = nullptr;
        Bytes *in = nullptr;  // null: into a reduction
        size_t out_bytes = 0, in_bytes = 0;
    };

    // The shares of a buffer that is cut into one for each of `shares` ranks.
    void cut(size_t count, int shares) {
        for (int i = 0; i <= shares; ++i)
            begins_[size_t(i)] = share_begin(count, i, shares) * size_;
    }
    size_t share_bytes(int i) const { return begins_[size_t(i) + 1] - begins_[size_t(i)]; }

    void plan() {
        plan_.resize(size_t(ranks_));
        const size_t whole = w_.count * size_;
        shared_ = is_reduction(w_.kind) && w_.kind != INFINI_REDUCE_SCATTER && whole > kEager;
        // With few ranks the root sends everything itself.
        spread_ = w_.kind == INFINI_BROADCAST && ranks_ > 3 && whole > kEager;
        if (shared_) cut(w_.count, ranks_);
        if (spread_) cut(w_.count, ranks_ - 1);
        for (int i = 0; i < ranks_; ++i) {
            if (i == me_) continue;
            Exchange &with = plan_[size_t(i)];
            const bool star = has_root() || (w_.kind == INFINI_REDUCE && !shared_);
            with.talks = !star || i == w_.root || me_ == w_.root;
            if (with.talks) plan_with(i, with);
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
    // Of a rank other than the root, among those.
    int place(int rank) const { return rank > w_.root ? rank - 1 : rank; }

    // ---- The first round ------------------------------------------------------------------------

    bool open() {
        std::vector<Transfer *> awaited(size_t(ranks_), nullptr);
        for (int i = 1; i < ranks_; ++i) {
            const int peer = other(i), rank = members_[size_t(peer)];
            if (!plan_[size_t(peer)].talks) continue;
            Network::Desk::Page &page = network_.desk(rank).in;
            awaited[size_t(peer)] = &session_.receive(rank, &page, sizeof page);
        }
        for (int i = 1; i < ranks_; ++i) {
            const int peer = other(i), rank = members_[size_t(peer)];
            const Exchange &with = plan_[size_t(peer)];
            if (!with.talks) continue;
            Network::Desk::Page &page = network_.desk(rank).out;
            page.opening = {kOpeningMagic, with.out_bytes, announced_};
            size_t bytes = offsetof(Network::Desk::Page, data);
            if (with.out_bytes && with.out_bytes <= kEager) {
                std::memcpy(page.data, with.out, with.out_bytes);
                bytes += with.out_bytes;
            }
            session_.send(rank, &page, bytes);
        }
        for (int i = 1; i < ranks_; ++i)
            if (Transfer *transfer = awaited[size_t(other(i))])
                if (!session_.until([&] { return transfer->done; }) || !agree(other(i), *transfer))
                    return false;
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

    bool finish_exchange() {
        std::list<Flow> out, in;
        own_part();
        for (int i = 1; i < ranks_; ++i) {
            const int peer = other(i), rank = members_[size_t(peer)];
            const Exchange &with = plan_[size_t(peer)];
            if (with.out_bytes > kEager)
                out.emplace_back(session_, rank, true, with.out, with.out_bytes, piece_);
            if (with.in_bytes == 0 || !with.in) continue;
            if (with.in_bytes > kEager)
                in.emplace_back(session_, rank, false, with.in, with.in_bytes, piece_);
            else
                std::memcpy(with.in, network_.desk(rank).in.data, with.in_bytes);
        }
        if (reduce_) return reduce_arriving(out);
        return move(out, in);
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

    bool move(std::list<Flow> &out, std::list<Flow> &in) {
        return session_.until([&] {
            bool done = true;
            for (std::list<Flow> *flows : {&out, &in})
                for (Flow &flow : *flows) {
                    flow.advance();
                    done &= flow.done();
                }
            return done;
        });
    }

    // What has come of all others for this rank, combined piece by piece while more comes.
    bool reduce_arriving(std::list<Flow> &out) {
        constexpr size_t kRing = 2;
        const size_t mine = part_of_reduction();
        const Bytes *own = at(send(), own_offset());
        Bytes *to = result();
        std::list<Flow> in, none;
        std::vector<const void *> from(static_cast<size_t>(ranks_));
        if (mine <= kEager) {
            for (int i = 0; i < ranks_; ++i)
                from[size_t(i)] = i == me_ ? own : network_.desk(members_[size_t(i)]).in.data;
            if (mine) reduce_(to, from.data(), ranks_, mine / size_);
            return move(out, none);
        }
        if (network_.staging.size() < size_t(ranks_) * kRing * piece_)
            network_.staging.resize(size_t(ranks_) * kRing * piece_);
        auto staged = [&](int i) { return network_.staging.data() + size_t(i) * kRing * piece_; };
        for (int i = 1; i < ranks_; ++i)
            in.emplace_back(session_, members_[size_t(other(i))], false, staged(other(i)), mine,
                            piece_, kRing);
        size_t combined = 0;
        const size_t pieces = (mine + piece_ - 1) / piece_;
        return session_.until([&] {
            bool done = true;
            for (Flow &flow : out) {
                flow.advance();
                done &= flow.done();
            }
            size_t ready = pieces;
            for (Flow &flow : in) {
                flow.advance(combined + kRing);
                ready = std::min(ready, flow.pieces_done());
            }
            for (; combined < ready; ++combined) {
                const size_t at = combined * piece_, bytes = std::min(piece_, mine - at);
                for (int i = 0; i < ranks_; ++i)
                    from[size_t(i)] = i == me_ ? own + at : staged(i) + combined % kRing * piece_;
                reduce_(to + at, from.data(), ranks_, bytes / size_);
            }
            for (Flow &flow : in) flow.advance(combined + kRing);
            return done && combined == pieces;
        });
    }

    // Of the reduction, in bytes: how much this rank combines, and where in the buffer that is.
    size_t part_of_reduction() const {
        if (w_.kind == INFINI_REDUCE_SCATTER) return part(w_.send_counts, me_) * size_;
        if (shared_) return share_bytes(me_);
        return w_.kind == INFINI_ALL_REDUCE || me_ == w_.root ? w_.count * size_ : 0;
    }
    size_t own_offset() const {
        if (w_.kind == INFINI_REDUCE_SCATTER) return part_begin(w_.send_counts, me_) * size_;
        return shared_ ? begins_[size_t(me_)] : 0;
    }
    // Where combined elements go: those who receive nothing need a place for their share.
    Bytes *result() {
        if (w_.kind == INFINI_REDUCE_SCATTER) return recv();
        if (w_.kind != INFINI_REDUCE || me_ == w_.root) return at(recv(), own_offset());
        if (shared_) scratch_.resize(share_bytes(me_));
        return scratch_.data();
    }

    // ---- The second round: shares go to all who need them --------------------------------------

    bool second_round() {
        if (!shared_ && !spread_) return true;
        std::list<Flow> out, in;
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
                out.emplace_back(session_, rank, true, from, share_bytes(mine), piece_);
            if (takes && share_bytes(theirs))
                in.emplace_back(session_, rank, false, recv() + begins_[size_t(theirs)],
                                share_bytes(theirs), piece_);
        }
        return move(out, in) && session_.finish();
    }

    Network &network_;
    const std::vector<int> &members_;
    const Announcement &announced_;
    Session session_;
    const int me_, ranks_;
    Reduce reduce_ = nullptr;
    size_t piece_;
    bool shared_ = false;  // each rank combines a share of the buffer, then all exchange these
    bool spread_ = false;  // the root gives each rank a share, and they exchange these
    std::vector<Exchange> plan_;
    std::vector<size_t> begins_;  // of shares, in bytes
    std::vector<Bytes> scratch_;
};

}  // namespace

bool run_flat(Network &network, const std::vector<int> &members, const InfiniCollective &work,
              const Announcement &announced, double timeout) {
    return Flat(network, members, work, announced, timeout).run();
}

}  // namespace infini::cpu::collectives
