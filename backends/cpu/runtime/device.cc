#include "device.h"

#include <mutex>

namespace infini::cpu {
namespace {

// Creates a ticket that completes with everything that `mark_all` marks. Null: already complete.
template <class MarkAll>
Error mark(Ticket **result, MarkAll mark_all) {
    *result = nullptr;
    Ticket *ticket = Ticket::make();
    if (!ticket) return fail(infinirtErrorMemoryAllocation, "no memory to wait for a stream");
    Error error = mark_all(*ticket);
    ticket->arrive();  // wakes nobody: nobody awaits the ticket yet
    if (!error && !ticket->done())
        *result = ticket;
    else
        ticket->drop();
    return error;
}

}  // namespace

void Device::add(Stream &stream) {
    std::lock_guard guard(order);
    stream.next_in_device = streams;
    if (streams) streams->previous_in_device = &stream;
    streams = &stream;
}

void Device::remove(Stream &stream) {
    std::lock_guard guard(order);
    (stream.previous_in_device ? stream.previous_in_device->next_in_device : streams) =
        stream.next_in_device;
    if (stream.next_in_device)
        stream.next_in_device->previous_in_device = stream.previous_in_device;
}

Error Device::mark_blocking(Ticket **ticket) {
    *ticket = nullptr;
    if (busy.load() == 0) return infinirtSuccess;
    return mark(ticket, [this](Ticket &all) { return mark_streams(all, Which::Legacy); });
}

Error Device::mark_legacy(Ticket **ticket) {
    return mark(ticket, [this](Ticket &all) { return legacy.mark(all); });
}

Error Device::mark_streams(Ticket &all, Which which) {
    for (Stream *stream = streams; stream; stream = stream->next_in_device)
        if (which == Which::All || stream->type == StreamType::Blocking)
            if (Error error = stream->mark(all)) return error;
    return infinirtSuccess;
}

Error Device::mark_device(Ticket **ticket, Which which) {
    std::lock_guard guard(order);
    return mark(ticket, [&](Ticket &all) {
        Error failed = legacy.mark(all);
        return failed ? failed : mark_streams(all, which);
    });
}

Error Device::query() {
    Ticket *ticket;
    if (Error error = mark_device(&ticket, Which::All)) return error;
    if (!ticket) return infinirtSuccess;
    ticket->drop();
    return infinirtErrorNotReady;
}

Error Device::synchronize(Which which) {
    Ticket *ticket;
    if (Error error = mark_device(&ticket, which)) return error;
    if (!ticket) return infinirtSuccess;
    ticket->wait(spin_long_ns());
    ticket->drop();
    return infinirtSuccess;
}

}  // namespace infini::cpu
