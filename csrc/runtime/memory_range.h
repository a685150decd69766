// What the runtime knows about a range of memory, and each thread's cache of the ranges it used
// last.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace infini::rt {

struct Device;
struct Pool;
struct PoolChunk;

enum class MemoryKind : uint8_t {
    Device,      // Malloc
    Pool,        // a chunk that a pool divides into blocks (MallocAsync)
    Graph,       // memory of an allocation node
    Managed,     // MallocManaged
    Pinned,      // MallocHost, HostAlloc
    Registered,  // HostRegister
    Imported,    // IpcOpenMemHandle
};

// One contiguous range; ranges never overlap.
struct MemoryRange {
    uintptr_t base = 0;
    size_t bytes = 0;
    MemoryKind kind = MemoryKind::Device;
    Device *device = nullptr;
    unsigned flags = 0;          // of HostAlloc / HostRegister / MallocManaged
    Pool *pool = nullptr;        // MemoryKind::Pool
    PoolChunk *chunk = nullptr;  // MemoryKind::Pool

    bool contains(const void *pointer, size_t count = 1) const {
        auto offset = reinterpret_cast<uintptr_t>(pointer) - base;
        return offset < bytes && count <= bytes - offset;
    }
    bool on_host() const { return kind == MemoryKind::Pinned || kind == MemoryKind::Registered; }
};

// Part of each thread's state. Entries may be out of date; each says how to tell.
struct MemoryCache {
    // Known ranges, and the gaps between them (device is null), as of the record's generation
    // `generation`.
    static constexpr unsigned kRanges = 8;
    uint64_t generation = 0;
    MemoryRange last[2];  // of the last destination and the last source
    MemoryRange ranges[kRanges];
    unsigned next_range = 0;

    // Live blocks of pools. Valid while the pool's count of frees is unchanged.
    static constexpr unsigned kBlocks = 4;
    struct Block {
        uintptr_t base = 0;
        size_t bytes = 0;
        const std::atomic<uint64_t> *frees = nullptr;
        uint64_t seen = 0;
    };
    unsigned next_block = 0;
    Block blocks[kBlocks];

    // Pages of other host memory that were found accessible: the address, with bit 0 set, and bit 1
    // if also writable.
    static constexpr uintptr_t kPageBytes = 4096;
    static constexpr unsigned kPages = 256;
    uintptr_t pages[kPages] = {};

    uintptr_t &page_of(uintptr_t address) { return pages[address / kPageBytes % kPages]; }
    bool knows_page(uintptr_t address, bool write) {
        uintptr_t page = address / kPageBytes * kPageBytes, known = page_of(address);
        return known == (page | 3) || (!write && known == (page | 1));
    }
    bool knows_pages(const void *pointer, size_t bytes, bool write) {
        // Only for ranges without pages between the first and the last one.
        constexpr size_t kSmallestPage = 4096;
        auto first = reinterpret_cast<uintptr_t>(pointer);
        return bytes - 1 < kSmallestPage && knows_page(first, write) &&
               knows_page(first + bytes - 1, write);
    }
};

}  // namespace infini::rt
