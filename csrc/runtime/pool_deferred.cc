// FreeAsync of memory that does not come from a pool: it is freed when its stream gets there.
#include "pool.h"

namespace infini::rt {
namespace {

struct Deferred {
    Device *device;  // whose memory it is
    void *memory;
    size_t bytes;
    Device *event_device;
    void *event;
};

struct List {
    ForkSafeMutex mutex{LockRank::Pools};
    std::vector<Deferred> entries;
};

List &list() {
    static auto *instance = new List;
    return *instance;
}

}  // namespace

Error free_later(Call &call, const MemoryRange &range, void *pointer, Stream &stream) {
    MemoryRange removed;
    if (!remove_memory(pointer, range.kind, &removed))
        return call.invalid(
            "devPtr is %p: expected the address that the allocation gave, it begins at 0x%zx",
            pointer, static_cast<size_t>(range.base));
    const InfiniDriver &driver = stream.device.driver();
    InfiniWork record;
    record.kind = INFINI_WORK_RECORD;
    Error error =
        driver.event_create(stream.device.index, infinirtEventDisableTiming, &record.as.event);
    if (error == infinirtSuccess) {
        error = driver.submit(stream.device.index, stream.driver, &record, 1);
        if (error != infinirtSuccess) driver.event_destroy(stream.device.index, record.as.event);
    }
    if (error != infinirtSuccess) {
        add_memory(removed);
        return call.driver(error, "marking the free in the stream");
    }
    {
        std::lock_guard lock(list().mutex);
        list().entries.push_back(
            {range.device, pointer, removed.bytes, &stream.device, record.as.event});
    }
    range.device->pool_excess.store(true, std::memory_order_relaxed);
    Pool::Chunks done;
    reap_freed(*range.device, &done);
    for (const Pool::Chunk &memory : done)
        memory.device->driver().release(memory.device->index, memory.memory, memory.bytes);
    return infinirtSuccess;
}

void reap_freed(Device &device, Pool::Chunks *done) {
    std::lock_guard lock(list().mutex);
    std::erase_if(list().entries, [&](const Deferred &entry) {
        const InfiniDriver &driver = entry.event_device->driver();
        if (entry.device != &device) return false;
        if (driver.event_query(entry.event_device->index, entry.event) == infinirtErrorNotReady) {
            device.pool_excess.store(true, std::memory_order_relaxed);
            return false;
        }
        driver.event_destroy(entry.event_device->index, entry.event);
        done->push_back({entry.device, entry.memory, entry.bytes});
        return true;
    });
    Thread::current().explanation.clear();
}

}  // namespace infini::rt
