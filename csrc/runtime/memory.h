// The record of all memory known to the runtime, and checked copy and fill requests.
#pragma once

#include <memory>

#include "call.h"
#include "memory_range.h"

namespace infini::rt {

// Look-ups need no lock while the set of ranges is unchanged (each thread caches the last few).
bool find_memory(const void *pointer, MemoryRange *range);
// False if it overlaps a known range.
bool add_memory(const MemoryRange &range);
// False if no range of this kind begins there.
bool remove_memory(const void *base, MemoryKind kind, MemoryRange *removed);
// Every range of a device, as a copy.
std::vector<MemoryRange> memory_of(const Device &device);

// Counts changes of the record. Read without memory ordering: a change that happened before the
// call, by the program's own synchronisation, is seen by any read, and the value it is compared
// with is the thread's own.
extern std::atomic<uint64_t> memory_generation;

// The range, or the gap between two (device is null), that contains an address. `role` (0
// destination, 1 source) only says where to look first. The result is valid until the thread's next
// look-up in that role.
const MemoryRange &look_up_in_record(MemoryCache &cache, uintptr_t address, int role);

inline const MemoryRange &look_up(MemoryCache &cache, const void *pointer, int role) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    if (cache.generation == memory_generation.load(std::memory_order_relaxed)) [[likely]] {
        const MemoryRange &range = cache.last[role];
        if (address - range.base < range.bytes) [[likely]]
            return range;
    }
    return look_up_in_record(cache, address, role);
}

// Host memory unknown to the runtime: can its first and last byte be read (written)?
bool probe_host(MemoryCache &cache, const void *pointer, size_t bytes, bool write);

// Checked requests: direction, bounds of known memory, overflow. For an empty box `*empty` is set
// and there is nothing to do.
Error make_copy(Call &call, const infinirtMemcpy3DParms &parameters, InfiniWork *work, bool *empty);
Error make_copy(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind,
                InfiniWork *work, bool *empty);
Error make_fill(Call &call, const infinirtMemsetParams &parameters, InfiniWork *work, bool *empty);

// Memory of allocate_host, or its fallback for back ends without it.
void release_host(const InfiniDriver &driver, void *memory, size_t bytes);

// The device with that ordinal of the calling thread's type. Null with the error recorded.
Device *device_argument(Call &call, int number, const char *name);

}  // namespace infini::rt
