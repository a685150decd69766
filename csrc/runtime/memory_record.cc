// The record of ranges: one ordered map behind a lock, and in each thread a copy of the few ranges
// used last.
#include <map>

#include "memory.h"

namespace infini::rt {

std::atomic<uint64_t> memory_generation{1};

namespace {

struct Record {
    ForkSafeMutex mutex{LockRank::Registry};
    std::map<uintptr_t, MemoryRange> ranges;  // by base
};

// Leaked: clients may still call during process exit.
Record &record() {
    static auto *instance = new Record;
    return *instance;
}

void changed() { memory_generation.fetch_add(1, std::memory_order_relaxed); }

MemoryRange range_or_gap(const std::map<uintptr_t, MemoryRange> &ranges, uintptr_t address) {
    auto after = ranges.upper_bound(address);
    MemoryRange gap;
    if (after != ranges.begin()) {
        const MemoryRange &before = std::prev(after)->second;
        if (address - before.base < before.bytes) return before;
        gap.base = before.base + before.bytes;
    }
    // The last gap ends at the end of the address space; the one case that does not fit loses its
    // last byte.
    gap.bytes = (after == ranges.end() ? 0 : after->first) - gap.base;
    if (gap.bytes == 0) gap.bytes = SIZE_MAX;
    return gap;
}

// The system has just allocated this memory, so earlier registrations there are stale: the program
// unmapped that memory without unregistering it.
void forget_unmapped(std::map<uintptr_t, MemoryRange> &ranges, const MemoryRange &fresh) {
    auto it = ranges.upper_bound(fresh.base + (fresh.bytes - 1));
    while (it != ranges.begin()) {
        --it;
        const MemoryRange &old = it->second;
        if (fresh.base > old.base && fresh.base - old.base >= old.bytes) break;
        if (old.kind == MemoryKind::Registered) it = ranges.erase(it);
    }
}

}  // namespace

const MemoryRange &look_up_in_record(MemoryCache &cache, uintptr_t address, int role) {
    MemoryRange &last = cache.last[role];
    if (cache.generation == memory_generation.load(std::memory_order_relaxed)) {
        for (const MemoryRange &range : cache.ranges)
            if (address - range.base < range.bytes) return last = range;
    }
    std::lock_guard lock(record().mutex);
    uint64_t generation = memory_generation.load(std::memory_order_relaxed);
    if (cache.generation != generation) {
        for (MemoryRange &range : cache.ranges) range = {};
        cache.last[1 - role] = {};
        cache.generation = generation;
    }
    last = range_or_gap(record().ranges, address);
    cache.ranges[cache.next_range++ % MemoryCache::kRanges] = last;
    return last;
}

bool find_memory(const void *pointer, MemoryRange *range) {
    *range = look_up(Thread::current().memory, pointer, 0);
    return range->device != nullptr;
}

bool add_memory(const MemoryRange &range) {
    std::lock_guard lock(record().mutex);
    auto &ranges = record().ranges;
    if (range.kind != MemoryKind::Registered) forget_unmapped(ranges, range);
    auto after = ranges.lower_bound(range.base);
    if (after != ranges.end() && after->first - range.base < range.bytes) return false;
    if (after != ranges.begin()) {
        const MemoryRange &before = std::prev(after)->second;
        if (range.base - before.base < before.bytes) return false;
    }
    ranges.emplace_hint(after, range.base, range);
    changed();
    return true;
}

bool remove_memory(const void *base, MemoryKind kind, MemoryRange *removed) {
    std::lock_guard lock(record().mutex);
    auto found = record().ranges.find(reinterpret_cast<uintptr_t>(base));
    if (found == record().ranges.end() || found->second.kind != kind) return false;
    *removed = found->second;
    record().ranges.erase(found);
    changed();
    return true;
}

std::vector<MemoryRange> memory_of(const Device &device) {
    std::vector<MemoryRange> found;
    std::lock_guard lock(record().mutex);
    for (const auto &[base, range] : record().ranges)
        if (range.device == &device) found.push_back(range);
    return found;
}

}  // namespace infini::rt
