// Memory pools: stream-ordered allocation (MallocAsync, FreeAsync).
//
// A pool allocates chunks from the device and divides them into blocks. A freed block remembers the
// point in the stream where it was freed (FreePoint) and can be reused
//   - in the same stream immediately;
//   - in another stream that is ordered after that point (reuse rule "follow event dependencies");
//   - anywhere once that point was reached ("opportunistic"); such blocks move to the shared bin;
//   - in another stream that is made to wait for the point ("internal dependencies"), if the device
//     is out of memory.
//
// Ownership: a chunk belongs to the pool, which returns it to the device when all of it is free and
// no longer in use, at a synchronisation, a trim, or when memory is short. A destroyed pool lives
// on, without a handle, until then.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "memory.h"
#include "pool_blocks.h"
#include "stream.h"

namespace infini::rt {

// A point in a stream after which memory was freed.
struct FreePoint {
    uint64_t order;            // counts the places of a pool
    uint64_t position;         // of the stream
    uint64_t legacy_position;  // of the device's legacy stream then
    void *event;               // recorded there or later; null: not yet, or not any more
    bool complete;
    unsigned references;
};

// The free blocks of one stream, or the shared bin (number 0).
struct FreeBin {
    uint64_t number = 0;
    Device *device = nullptr;
    bool legacy = false, blocking = false;  // the legacy stream is both
    FreeLists lists;
    FreePoint *last = nullptr;        // the newest
    std::deque<FreePoint *> pending;  // not complete, oldest first
};

struct Pool {
    Pool(Device &device, size_t max_bytes, bool is_default);
    ~Pool();

    Device &device;
    const size_t max_bytes;  // 0: no limit but the device's
    const bool is_default;

    // Attributes.
    std::atomic<bool> follow_dependencies{true}, opportunistic{true}, internal_dependencies{true};
    std::atomic<uint64_t> release_threshold{0};

    std::atomic<uint64_t> frees{0};  // how many blocks were freed: MemoryCache::blocks

    // By the address of the object, not by a member: an outdated look-up may lock a pool that is
    // gone.
    ForkSafeMutex &mutex() const {
        return StripedMutex<LockRank::Pool>::of(reinterpret_cast<uintptr_t>(this) / sizeof(Pool));
    }

    // All below is guarded by mutex().
    uint64_t reserved = 0, reserved_high = 0, used = 0, used_high = 0;
    bool retired = false;                          // destroyed by the client
    std::map<int, infinirtMemAccessFlags> access;  // of other devices, by number

    // Memory to be released once no lock is held.
    struct Chunk {
        Device *device;
        void *memory;
        size_t bytes;
    };
    using Chunks = std::vector<Chunk>;

    PoolBlock *find(Stream &stream, size_t granules);  // the quick ways: own stream, settled
    PoolBlock *find_thoroughly(Stream &stream, size_t granules);   // and whatever is ordered before
    PoolBlock *find_to_wait_for(Stream &stream, size_t granules);  // freed in a stream that goes on
    void *take(PoolBlock *block, size_t granules, size_t bytes);
    // Records the point of a free in `stream`. An error changes nothing.
    Error note_free(Call &call, Stream &stream, FreeBin **bin, FreePoint **point);
    void put_back(PoolBlock *block, FreeBin *bin, FreePoint *point);
    void add_chunk(PoolChunk *chunk);
    // Releases free chunks as long as `keep` bytes stay reserved.
    void shrink(uint64_t keep, Chunks *given);
    // Coalesces free neighbours; with `everywhere`, blocks of streams that have passed the free
    // point move to the shared bin.
    void settle(bool everywhere);
    size_t unsettled() const;               // blocks in the bins of streams
    void forget_everything(Chunks *given);  // DeviceReset
    FreeBin &settled_bin() { return *settled_; }
    bool empty() const { return chunks_.empty(); }

private:
    FreeBin *bin_of(Stream &stream, bool make);
    Error record_event(Stream &stream, void **event);
    void merge(PoolBlock *block);
    void absorb(PoolBlock *block, PoolBlock *next);
    void drop(FreePoint *point);
    void poll(FreeBin &bin,
              bool ask);  // which places were passed; without asking: which are of no use
    void pass(FreeBin &bin, FreePoint *point);
    static void *event_behind(const FreeBin &bin, const FreePoint &point);
    static bool ordered_before(Stream &stream, const FreeBin &bin, const FreePoint &point);
    static bool by_legacy(Stream &stream, const FreeBin &bin, const FreePoint &point);
    void keep_event(Device &of, void *event);
    void remove_chunk(PoolChunk *chunk, Chunks *given);

    std::vector<PoolChunk *> chunks_;
    std::unique_ptr<FreeBin> settled_;
    std::unordered_map<uint64_t, std::unique_ptr<FreeBin>> bins_;
    FreeBin *last_bin_ = nullptr;
    uint64_t last_order_ = 0;
    std::vector<PoolBlock *> spare_blocks_;
    std::vector<FreePoint *> spare_points_;
    std::vector<void *> spare_events_;  // of `device`
};

using PoolTable = HandleTable<Pool>;
using ChunkTable = HandleTable<PoolChunk>;

inline infinirtMemPool_t handle_of(Pool *pool) { return reinterpret_cast<infinirtMemPool_t>(pool); }

// The device's pool for MallocAsync, created on first use. Null with the error recorded if that
// fails.
Pool *current_pool(Call &call, Device &device);
Pool *default_pool(Call &call, Device &device);
Pool *new_pool(Device &device, size_t max_bytes, bool is_default);  // null when there are too many
void retire_pool(Pool &pool);

Error allocate_block(Call &call, Pool &pool, Stream &stream, size_t bytes, void **memory);
// Frees the block that begins at `pointer`, in the chunk `range`. Without a stream, nothing uses it
// any more.
Error free_block(Call &call, const MemoryRange &range, void *pointer, Stream *stream);
// FreeAsync of memory from Malloc: released once the stream gets there.
Error free_later(Call &call, const MemoryRange &range, void *pointer, Stream &stream);
// The memory of this kind on a device that can be released by now.
void reap_freed(Device &device, Pool::Chunks *done);

// Is part of a chunk within one live block?
bool inside_block(MemoryCache &cache, const MemoryRange &range, const void *pointer, size_t bytes);

// After a synchronisation: releases memory above the release threshold of the device's pools
// (CUDA's rule). Costs one atomic load if there is none.
void release_unused(Device &device);
// The device is short of memory: releases everything possible. False if there was nothing.
bool trim_pools(Device &device);
// The device is reset: all memory of its pools is gone. Its streams are idle.
void reset_pools(Device &device);

}  // namespace infini::rt
