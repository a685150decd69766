// Memory of a device, cached: freed blocks serve the next allocation of their size and stream
// immediately, since work in one stream is done in order.
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
    // memory without a place. Throws std::runtime_error, which says what was asked for and what is
    // in use.
    std::shared_ptr<Memory> allocate(size_t bytes, infinirtStream_t stream);
    // The memory is used in this stream too: it is not reused before that work is done. Memory that
    // did not come from here is left alone.
    static void record_stream(Memory &memory, infinirtStream_t stream);
    // Gives back what is not in use. Other threads give back their caches with their next call.
    void trim();
    // Memory of the host ran out: unused memory that is the host's goes back to the system, now and
    // for a while.
    void note_shortage() noexcept;
    context::MemoryStats stats() const;
    void reset_peaks();

    class State;

private:
    std::unique_ptr<State> state_;
};

}  // namespace infinicore::detail
