#include "stream.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "copy.h"
#include "device.h"
#include "event.h"
#include "process.h"

namespace infini::cpu {

Stream::Stream(Device &device, StreamType type, int priority)
    : device(device),
      type(type),
      rank(std::clamp(priority, kGreatestPriority, kLeastPriority) - kGreatestPriority) {}

Error Stream::create(Device &device, unsigned flags, int priority, Stream **stream) {
    if (Error error = process->workers.start()) return error;
    StreamType type =
        flags & infinirtStreamNonBlocking ? StreamType::NonBlocking : StreamType::Blocking;
    *stream = new (std::nothrow) Stream(device, type, priority);
    if (!*stream) return fail(infinirtErrorMemoryAllocation, "no memory for a stream");
    device.add(**stream);
    return infinirtSuccess;
}

void Stream::drop() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    device.remove(*this);
    delete this;
}

// ---- Submission ---------------------------------------------------------------------------------

// Whether nothing is pending that new work would have to wait for.
bool Stream::settled() const {
    if (pending.load(std::memory_order_acquire) != 0) return false;
    switch (type) {
        case StreamType::NonBlocking:
            return true;
        case StreamType::Blocking:
            return device.legacy.pending.load() == 0;
        case StreamType::Legacy:
            return device.busy.load() == 0;
    }
    return false;
}

// Copies, fills and kernels in the legacy stream run in the calling thread if nothing is pending
// before them.
bool Stream::perform_inline(const InfiniWork &work) {
    if (device.perform_at_once(work)) return true;
    // Acquires the run of an idle stream, without queueing anything.
    uint64_t idle = 0;
    if (device.busy.load(std::memory_order_relaxed) != 0 ||
        !pending.compare_exchange_strong(idle, 1))
        return false;
    bool alone = device.busy.load() == 0;
    if (alone) {
        if (device.bias.foreign()) device.bias.revoke();
        perform(work);
        device.bias.earn();
    }
    // If others have appended work meanwhile, passes the run on to them.
    if (uint32_t(pending.fetch_sub(1)) != 1) process->workers.schedule(this);
    return alone;
}

// Runs the work immediately if nothing is pending before it and no queue is needed for it.
bool Stream::start_inline(const InfiniWork &work) {
    switch (work.kind) {
        case INFINI_WORK_COPY:
        case INFINI_WORK_FILL:
        case INFINI_WORK_KERNEL:
            return type == StreamType::Legacy && perform_inline(work);
        case INFINI_WORK_RECORD:
            return settled() && static_cast<Event *>(work.as.event)->record_now();
        case INFINI_WORK_WAIT:
            return static_cast<Event *>(work.as.event)->complete() && settled();
        default:
            return false;
    }
}

Error Stream::submit(const InfiniWork *work, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (work[i].kind == INFINI_WORK_RECORD || work[i].kind == INFINI_WORK_WAIT)
            if (Error error = static_cast<Event *>(work[i].as.event)->usable()) return error;
    for (; count != 0 && start_inline(*work); --count) ++work;
    if (count == 0) [[likely]]
        return infinirtSuccess;
    if (Error error = process->workers.start()) return error;

    switch (type) {
        case StreamType::Legacy:
            return submit_legacy(work, count);
        case StreamType::Blocking:
            return submit_blocking(work, count);
        case StreamType::NonBlocking:
            break;
    }
    bool awakened = false;
    lock.lock();
    Error error = append(work, count, nullptr, &awakened);
    lock.unlock();
    if (awakened) process->workers.schedule(this);
    return error;
}

Error Stream::submit_legacy(const InfiniWork *work, size_t count) {
    // A thread that found the stream complete may be ahead of the worker that is just leaving it.
    if (work->kind != INFINI_WORK_HOST && spin_briefly([&] { return settled(); }))
        for (; count != 0 && start_inline(*work); --count) ++work;
    if (count == 0) return infinirtSuccess;

    bool awakened = false;
    device.order.lock();
    pending.fetch_add(kHold);  // announced: from here on blocking streams queue up for `order`
    if (device.bias.foreign()) device.bias.revoke();
    Ticket *behind;
    Error error = device.mark_blocking(&behind);
    if (!error) {
        std::lock_guard guard(lock);
        error = append(work, count, behind, &awakened);
    }
    pending.fetch_sub(kHold);
    device.order.unlock();
    if (awakened) process->workers.schedule(this);
    return error;
}

Error Stream::submit_blocking(const InfiniWork *work, size_t count) {
    lock.lock();
    device.busy.fetch_add(1);  // announced; taken back below, or by the last retire()
    Ticket *behind = nullptr;
    bool ordered = device.legacy.pending.load() != 0;
    Error error = infinirtSuccess;
    if (ordered) {
        device.busy.fetch_sub(1);
        lock.unlock();
        device.order.lock();
        lock.lock();
        device.busy.fetch_add(1);
        error = device.mark_legacy(&behind);
    }
    if (device.bias.foreign()) device.bias.revoke();
    bool awakened = false;
    if (!error) error = append(work, count, behind, &awakened);
    if (!awakened) device.busy.fetch_sub(1);  // a stream that was busy already is counted
    lock.unlock();
    if (ordered) device.order.unlock();
    if (awakened) process->workers.schedule(this);
    return error;
}

// Queues `work`, after a wait for `behind` if that is set, and publishes it. The caller holds
// `lock`. `awakened`: the stream was idle, and the caller must schedule it.
Error Stream::append(const InfiniWork *work, size_t count, Ticket *behind, bool *awakened) {
    Error error = infinirtSuccess;
    uint64_t added = 0;
    if (!queue.reserve(count + 1)) {
        if (behind) behind->drop();
        return fail(infinirtErrorMemoryAllocation, "no memory for %zu items in a stream", count);
    }
    if (behind) {
        Item &item = queue.put();
        item.kind = Kind::Await;
        item.ticket = behind;
        ++added;
    }
    for (size_t i = 0; i < count; ++i) {
        Item &item = queue.put();
        bool put = true;
        switch (work[i].kind) {
            case INFINI_WORK_COPY:
                item.kind = Kind::Copy;
                item.copy = work[i].as.copy;
                break;
            case INFINI_WORK_FILL:
                item.kind = Kind::Fill;
                item.fill = work[i].as.fill;
                break;
            case INFINI_WORK_KERNEL:
                item.kind = Kind::Kernel;
                item.kernel = keep(work[i].as.kernel);
                put = item.kernel != nullptr;
                if (!put) error = fail(infinirtErrorMemoryAllocation, "no memory for a kernel");
                break;
            case INFINI_WORK_HOST:
                item.kind = Kind::Host;
                item.host = work[i].as.host;
                break;
            case INFINI_WORK_WAIT:
                put = static_cast<Event *>(work[i].as.event)->await(item);
                break;
            case INFINI_WORK_RECORD:
                put = static_cast<Event *>(work[i].as.event)->record(item);
                if (!put)
                    error = fail(infinirtErrorMemoryAllocation, "no memory to record an event");
                break;
            default:
                put = false;
                error = fail(infinirtErrorNotSupported,
                             "work of kind %d is unknown to this back end", int(work[i].kind));
        }
        if (put)
            ++added;
        else
            queue.unput();
        if (error) break;
    }
    if (added == 0) return error;
    *awakened = uint32_t(pending.fetch_add(added)) == 0;
    if (*awakened && type != StreamType::Legacy)
        references.fetch_add(1, std::memory_order_relaxed);  // dropped by the last retire()
    return error;
}

// ---- Progress -----------------------------------------------------------------------------------

bool Stream::retire() {
    if (uint32_t(pending.fetch_sub(1)) != 1) return false;
    if (type == StreamType::Blocking) device.busy.fetch_sub(1);
    if (type != StreamType::Legacy) drop();
    return true;
}

Error Stream::mark(Ticket &ticket) {
    std::lock_guard guard(lock);
    uint64_t seen = pending.load();
    if (uint32_t(seen) == 0) return infinirtSuccess;
    if (!queue.reserve(1))
        return fail(infinirtErrorMemoryAllocation, "no memory to wait for a stream");
    Item &item = queue.put();
    item.kind = Kind::Complete;
    item.ticket = &ticket;
    ticket.expect();
    ticket.hold();
    // Published only if the stream is still busy: an ended run is not restarted for this.
    do {
        if (pending.compare_exchange_weak(seen, seen + 1)) return infinirtSuccess;
    } while (uint32_t(seen) != 0);
    queue.unput();
    ticket.arrive();  // the caller's own arrival is outstanding, so this completes nothing
    ticket.drop();
    return infinirtSuccess;
}

bool Stream::complete() const {
    if (type == StreamType::Legacy) return device.quiet();
    return pending.load(std::memory_order_acquire) == 0;
}

Error Stream::synchronize() {
    if (spin(spin_long_ns(), [this] { return complete(); })) return infinirtSuccess;
    if (type == StreamType::Legacy) return device.synchronize(Device::Which::Legacy);
    Ticket *ticket = Ticket::make();
    if (!ticket) return fail(infinirtErrorMemoryAllocation, "no memory to wait for a stream");
    Error error = mark(*ticket);
    ticket->arrive();
    if (!error) ticket->wait(0);
    ticket->drop();
    return error;
}

}  // namespace infini::cpu
