// A CPU device: its streams and the order between them.
#pragma once

#include <atomic>
#include <cstdint>

#include "biased_lock.h"
#include "copy.h"
#include "error.h"
#include "stream.h"

namespace infini::cpu {

// The legacy default stream and the blocking streams wait for each other:
//
//  * Work submitted to the legacy stream first *marks* every busy blocking stream: it appends an
//    arrival of a ticket that the work then awaits. Work submitted to a blocking stream marks the
//    legacy stream in the same way.
//  * `order` is held meanwhile, so that each submission is wholly before or after another one and
//    the tickets cannot form a circle.
//  * Neither needs the lock when the other side is idle. Each announces itself before it looks: a
//    legacy submission makes legacy.pending nonzero and then reads busy, a blocking one raises busy
//    and then reads legacy.pending. All four are sequentially consistent, so of two at the same
//    time at least one sees the other and takes the lock.
//  * The thread that owns `bias` does without that. After announcing itself, every other thread
//    revokes it.
struct Device {
    explicit Device(int index) : index(index), legacy(*this, StreamType::Legacy, kLeastPriority) {}

    // Blocking streams with pending work or a submission in progress. Next to legacy.pending,
    // because a copy in the legacy stream checks both.
    alignas(64) std::atomic<uint32_t> busy{0};
    Bias bias;  // the fast path into the legacy stream
    const int index;
    Stream legacy;

    Mutex order;                // guards the list, and see above; taken before any stream's lock
    Stream *streams = nullptr;  // all but the legacy stream

    // Whether everything that work in the legacy stream waits for is done.
    bool quiet() const { return legacy.pending.load() == 0 && busy.load() == 0; }

    // Short work in the legacy stream by the thread that owns `bias`: the most latency-critical
    // path.
    bool perform_at_once(const InfiniWork &work) {
        if (!bias.mine() || !is_short(work)) return false;
        Bias::Visit visit(bias);
        if (!visit.holds() || !quiet()) return false;
        perform(work);
        return true;
    }

    void add(Stream &stream);
    void remove(Stream &stream);

    // A ticket for all pending work of the blocking streams, or of the legacy stream. Null: there
    // is none. The caller holds `order`.
    Error mark_blocking(Ticket **ticket);
    Error mark_legacy(Ticket **ticket);

    enum class Which { All, Legacy };  // Legacy: the legacy stream and those that it waits for
    Error synchronize(Which which);
    Error query();  // NotReady while any stream has work

private:
    Error mark_device(Ticket **ticket, Which which);  // null: all is done
    Error mark_streams(Ticket &all, Which which);
};

}  // namespace infini::cpu
