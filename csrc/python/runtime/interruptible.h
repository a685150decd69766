// Waits of the main thread that Ctrl-C interrupts.
#pragma once

namespace infini::python {

enum class StreamState { Done, Busy, Failed };

// Failed: the thread's last error says why.
StreamState query_stream(void *stream);

// Returns when the stream's work is done, or this is not the main thread; the usual wait follows, and
// reports errors. False: so did a query, which may be the only report. Raises what a signal's
// handler raises. The caller holds the interpreter's lock.
bool wait_unless_interrupted(void *stream);

// The same until an event's latest record is reached.
bool wait_for_event_unless_interrupted(void *event);

}  // namespace infini::python
