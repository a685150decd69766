// Memory of a device, cached: freed blocks serve the next allocation of their size and stream
// immediately, because work in one stream runs in order.
#pragma once

#include <memory>

#include "infinicore/context.hpp"

namespace infinicore::detail {

struct DeviceRuntime;

class INFINI_EXPORT Allocator {
public:
    enum class Kind { Device, Pinned };
    explicit Allocator(DeviceRuntime &runtime, Kind kind = Kind::Device);
    ~Allocator();

    // At least `bytes`, aligned to 64 bytes or more, for use in the stream. Zero bytes give a
    // memory without an address. Throws std::runtime_error, whose message has the requested size
    // and what is in use.
    std::shared_ptr<Memory> allocate(size_t bytes, infinirtStream_t stream);
    // The memory is used in this stream too: it is not reused before that work is done. Has no
    // effect on memory that was not allocated here.
    static void record_stream(Memory &memory, infinirtStream_t stream);
    // Frees unused memory. Other threads free their caches at their next call.
    void trim();
    // The host ran out of memory: returns unused host memory to the system, now and for a while.
    void note_shortage() noexcept;
    context::MemoryStats stats() const;
    void reset_peaks();

    class State;

private:
    std::unique_ptr<State> state_;
};

}  // namespace infinicore::detail
