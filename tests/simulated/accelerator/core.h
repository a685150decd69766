// A simulated accelerator: the common core of the simulated libraries of vendors with a runtime of
// their own. Streams are threads; device memory cannot be touched by the host, and each access is
// checked; any function can be made to fail; calls are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#define SIMULATED __attribute__((visibility("default")))

namespace simulated {

// To be called first in every function of a vendor's: counts the call. Returns the error code that
// a test has requested, or 0.
SIMULATED int begin(const char *function);
// The last function passed to `begin` in this thread, for messages.
SIMULATED const char *current();

// Reports a misuse of the API on stderr, and counts it.
SIMULATED void violate(const std::string &what);

// ---- Devices: INFINI_SIM_DEVICES of them, else two ----------------------------------------------

SIMULATED int device_count();
SIMULATED int &device();  // of the thread; -1 before one was chosen
constexpr size_t kMemory = size_t(1) << 30;
SIMULATED size_t used(int device);

// ---- Memory -------------------------------------------------------------------------------------

SIMULATED void *allocate(int device, size_t bytes);  // null: out of memory
SIMULATED bool release(void *memory);
SIMULATED void *pin(size_t bytes);
SIMULATED bool unpin(void *memory);
SIMULATED bool is_pinned(const void *memory, size_t bytes);

// Where the bytes of device memory are kept. Null, with a report, if they are not one live
// allocation of that device (-1: of any).
SIMULATED char *bytes_of(const void *memory, size_t bytes, int device);
// The same for memory that must be the host's.
SIMULATED char *host_bytes(const void *memory, size_t bytes);

// ---- Streams and events: all functions refuse handles that are not live -------------------------

using Work = std::function<int()>;  // returns the vendor's code

SIMULATED void *make_stream();
SIMULATED bool destroy_stream(void *stream);
SIMULATED bool enqueue(void *stream, Work work);  // null: the device's default stream
SIMULATED bool synchronize(void *stream, int *code);
SIMULATED bool synchronize_device(int *code);
SIMULATED bool is_idle(void *stream, bool *idle);
SIMULATED int device_of_stream(void *stream);

SIMULATED void *make_event(bool timed);
SIMULATED bool destroy_event(void *event);
SIMULATED bool record(void *event, void *stream);
SIMULATED bool wait(void *stream, void *event);
SIMULATED bool synchronize_event(void *event);
SIMULATED bool is_recorded(void *event, bool *done);
SIMULATED bool elapsed(void *start, void *end, float *milliseconds);

// Copies inside a stream. A device of -1 is the host.
SIMULATED int copy(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                   int failure);

}  // namespace simulated
