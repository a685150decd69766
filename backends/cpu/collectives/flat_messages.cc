// Sends and receives over links. Those with the same rank are sequential; those with different
// ranks are concurrent, so that no order of them can cause a deadlock.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

#include "communicator.h"
#include "flat.h"

namespace infini::cpu::collectives {
namespace {

constexpr size_t kMessagePiece = 512 << 10;

class FlatMessage {
public:
    FlatMessage(Network &network, Session &session, const InfiniCollective &work)
        : network_(network),
          session_(session),
          work_(work),
          bytes_(work.count * element_bytes(work.dtype)) {}

    // True: the next one may begin. The first call starts it.
    bool advance_send() {
        if (!opening_) {
            // There is one opening per rank: several messages each need their own.
            page_ = std::make_unique<Network::Desk::Page>();
            page_->opening = {kOpeningMagic, bytes_, announced()};
            const bool eager = bytes_ && bytes_ <= kEager;
            if (eager) std::memcpy(page_->data, work_.send, bytes_);
            opening_ = &session_.send(work_.root, page_.get(),
                                      offsetof(Network::Desk::Page, data) + (eager ? bytes_ : 0));
            if (bytes_ > kEager)
                flow_.emplace(session_, work_.root, true, work_.send, bytes_, kMessagePiece);
        }
        if (flow_) flow_->advance();
        return !flow_ || flow_->begun();
    }

    bool advance_receive() {
        Network::Desk::Page &page = network_.desk(work_.root).in;
        if (!opening_) opening_ = &session_.receive(work_.root, &page, sizeof page);
        if (!opening_->done) return false;
        if (!checked_) {
            if (!agree(page)) return false;
            checked_ = true;
            if (bytes_ > kEager)
                flow_.emplace(session_, work_.root, false, work_.recv, bytes_, kMessagePiece);
            else if (bytes_)
                std::memcpy(work_.recv, page.data, bytes_);
        }
        if (flow_) flow_->advance();
        return !flow_ || flow_->begun();
    }

    // Everything was sent or received.
    bool done() {
        if (flow_) flow_->advance();
        return opening_ && opening_->done && (!flow_ || flow_->done());
    }

private:
    Announcement announced() const {
        return {INFINI_SEND, work_.dtype, 0, work_.root, work_.count, 0, network_.number};
    }

    bool agree(const Network::Desk::Page &page) {
        const Opening &opening = page.opening;
        const int other = work_.root, me = network_.rank;
        if (opening_->came < sizeof opening || opening.magic != kOpeningMagic)
            return session_.fail("rank " + std::to_string(other) +
                                 " is in another operation than rank " + std::to_string(me) +
                                 ", which waited in Recv");
        if (opening.announced.kind != INFINI_SEND) {
            Announcement mine = announced();
            mine.kind = INFINI_RECEIVE;
            return session_.fail(me < other ? difference(me, mine, other, opening.announced)
                                            : difference(other, opening.announced, me, mine));
        }
        if (opening.bytes == bytes_ && opening.announced.dtype == work_.dtype) return true;
        return session_.fail("rank " + std::to_string(other) + " sends " +
                             std::to_string(opening.announced.count) + " elements of dtype " +
                             std::to_string(opening.announced.dtype) + " to rank " +
                             std::to_string(me) + ", which expects " + std::to_string(work_.count) +
                             " of dtype " + std::to_string(work_.dtype));
    }

    Network &network_;
    Session &session_;
    const InfiniCollective &work_;
    const size_t bytes_;
    std::unique_ptr<Network::Desk::Page> page_;
    Transfer *opening_ = nullptr;
    bool checked_ = false;
    std::optional<Flow> flow_;
};

// What a rank sends to itself, in order.
bool send_to_oneself(Session &session, int rank,
                     const std::vector<const InfiniCollective *> &messages) {
    std::deque<const InfiniCollective *> sent, wanted;
    for (const InfiniCollective *each : messages)
        if (each->root == rank) (each->kind == INFINI_SEND ? sent : wanted).push_back(each);
    for (; !sent.empty() && !wanted.empty(); sent.pop_front(), wanted.pop_front()) {
        const InfiniCollective &from = *sent.front(), &to = *wanted.front();
        if (from.count != to.count || from.dtype != to.dtype)
            return session.fail("rank " + std::to_string(rank) + " sends " +
                                std::to_string(from.count) + " elements of dtype " +
                                std::to_string(from.dtype) + " to itself, and expects " +
                                std::to_string(to.count) + " of dtype " + std::to_string(to.dtype));
        if (from.count) std::memmove(to.recv, from.send, from.count * element_bytes(from.dtype));
    }
    if (sent.empty() && wanted.empty()) return true;
    return session.fail("rank " + std::to_string(rank) +
                        " sends to itself: expected a Send and a Recv in the same group");
}

}  // namespace

bool run_flat_messages(Network &network, const std::vector<const InfiniCollective *> &messages,
                       double timeout) {
    Session session(network, timeout, "Send or Recv");
    if (!send_to_oneself(session, network.rank, messages)) return false;
    std::deque<FlatMessage> all;
    std::map<int, std::deque<FlatMessage *>> lanes[2];  // those that have not begun yet, by rank
    for (const InfiniCollective *each : messages)
        if (each->root != network.rank)
            lanes[each->kind == INFINI_SEND][each->root].push_back(
                &all.emplace_back(network, session, *each));
    size_t waited_for = 0;  // all before it are done
    return session.until([&] {
        for (bool sends : {true, false})
            for (auto &[peer, lane] : lanes[sends])
                while (!lane.empty() &&
                       (sends ? lane.front()->advance_send() : lane.front()->advance_receive()))
                    lane.pop_front();
        for (FlatMessage &each : all) each.done();
        while (waited_for < all.size() && all[waited_for].done()) ++waited_for;
        return waited_for == all.size();
    });
}

}  // namespace infini::cpu::collectives
