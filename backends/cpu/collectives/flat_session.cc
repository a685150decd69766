#include "flat_session.h"

#include <algorithm>
#include <cstdio>

#include "communicator.h"
#include "tcp_sockets.h"

namespace infini::cpu::collectives {

void Fate::fail(const std::string &reason) {
    std::lock_guard guard(lock_);
    if (failed_.load(std::memory_order_relaxed)) return;
    reason_ = reason;
    failed_.store(true, std::memory_order_release);
}

std::string Fate::reason() {
    std::lock_guard guard(lock_);
    return reason_;
}

Transfer &Session::send(int peer, const void *data, size_t bytes) {
    return make(peer, true, data, bytes);
}

Transfer &Session::receive(int peer, void *data, size_t bytes) {
    return make(peer, false, data, bytes);
}

Transfer &Session::make(int peer, bool sends, const void *data, size_t bytes) {
    Transfer &made = made_ < std::size(first_) ? first_[made_] : more_.emplace_back();
    ++made_;
    made.peer = peer;
    made.sends = sends;
    made.data = const_cast<void *>(data);
    made.bytes = bytes;
    begin(made);
    return made;
}

bool Session::finish() {
    return until([&] { return !find([](const Transfer &each) { return !each.done; }); });
}

bool Session::fail(const std::string &reason) {
    network_.fate.fail(reason);
    if (network_.host) network_.host->fail(network_.fate.reason());
    network_.links->tell(network_.fate.reason());
    return false;
}

bool Session::step() {
    if (network_.fate.failed()) return fail("");
    int wait = 1000;
    if (World *host = network_.host) {
        if (host->failed()) return fail(host->reason());
        // Other ranks of this host leave the time-out to this rank.
        host->seat(network_.seat).beat.fetch_add(1, std::memory_order_relaxed);
        wait = 200;
    }
    if (timeout_ > 0 && idle_since_ > 0) wait = poll_time(idle_since_ + timeout_, wait);
    if (!network_.links->progress(wait)) return judge();
    idle_since_ = 0;
    const std::string told = network_.links->told();
    return told.empty() || fail(told);
}

// No progress: check whether the operation can still complete.
bool Session::judge() {
    if (network_.fate.failed()) return fail("");
    const std::string told = network_.links->told();
    if (!told.empty()) return fail(told);
    // Blame a rank that sends nothing before one that does not receive.
    const Transfer *waiting = nullptr;
    auto look = [&](const Transfer &each) {
        if (!each.done && (!waiting || (waiting->sends && !each.sends))) waiting = &each;
        return !each.done && !network_.links->gone(each.peer).empty();
    };
    const std::string mine = "rank " + std::to_string(network_.rank);
    auto lost = [&](const Transfer &each) {
        return fail(network_.links->gone(each.peer) + " while " + mine + " waited in " + purpose_);
    };
    if (const Transfer *gone = find(look)) return lost(*gone);
    const double now = seconds_now();
    if (idle_since_ == 0) idle_since_ = now;
    if (!waiting || !(timeout_ > 0) || now < idle_since_ + timeout_) return true;
    char text[64];
    snprintf(text, sizeof text, "rank %d did not come within %g s: ", waiting->peer, timeout_);
    return fail(text + mine + " waited in " + (announced_ ? description(*announced_) : purpose_));
}

Flow::Flow(Session &session, int peer, bool sends, const void *data, size_t bytes, size_t piece,
           size_t ring)
    : session_(session),
      data_(static_cast<unsigned char *>(const_cast<void *>(data))),
      bytes_(bytes),
      piece_(piece),
      ring_(ring),
      pieces_((bytes + piece - 1) / piece),
      most_(piece < kLarge ? kWindow : 1) {
    for (Transfer &each : window_) {
        each.peer = peer;
        each.sends = sends;
        each.done = true;
        session.watch(each);
    }
}

Flow::~Flow() {
    for (Transfer &each : window_) session_.forget(each);
}

void Flow::count_done() {
    for (; done_ < begun_ && window_[done_ % kWindow].done; ++done_) {
        const Transfer &each = window_[done_ % kWindow];
        if (each.sends || each.came == each.bytes) continue;
        session_.fail("rank " + std::to_string(each.peer) + " sent " + std::to_string(each.came) +
                      " bytes where " + std::to_string(each.bytes) + " were expected");
        return;
    }
}

void Flow::advance(size_t limit) {
    count_done();
    while (begun_ < std::min(limit, pieces_) && begun_ - done_ < most_) {
        Transfer &next = window_[begun_ % kWindow];
        next.data = data_ + (ring_ ? begun_ % ring_ : begun_) * piece_;
        next.bytes = std::min(piece_, bytes_ - begun_ * piece_);
        session_.begin(next);
        ++begun_;
        count_done();
    }
}

}  // namespace infini::cpu::collectives
