// Allocating from pools and freeing their memory.
#include "pool.h"

#include <algorithm>

#include "graph.h"

namespace infini::rt {
namespace {

// Every pool that still has memory, including those that clients destroyed.
struct PoolRegistry {
    ForkSafeMutex mutex{LockRank::Pools};
    std::vector<Pool *> pools;
};

PoolRegistry &registry() {
    static auto *instance = new PoolRegistry;
    return *instance;
}

bool give_back(const Pool::Chunks &given) {
    for (const Pool::Chunk &chunk : given)
        chunk.device->driver().release(chunk.device->index, chunk.memory, chunk.bytes);
    return !given.empty();
}

// Calls work(pool) with each pool of the device locked. Destroyed pools without memory are deleted
// here.
void each_pool(Device &device, auto work) {
    std::lock_guard lock(registry().mutex);
    std::erase_if(registry().pools, [&](Pool *pool) {
        if (&pool->device != &device) return false;
        bool done;
        {
            std::lock_guard pool_lock(pool->mutex());
            work(*pool);
            done = pool->retired && pool->empty();
        }
        if (done) PoolTable::get().destroy(pool);
        return done;
    });
}

// Counts a new chunk as reserved. 0 if the pool may not grow by that much.
size_t reserve(Pool &pool, size_t bytes) {
    size_t chunk;
    if (__builtin_add_overflow(bytes, kChunkBytes - 1, &chunk)) return 0;
    chunk -= chunk % kChunkBytes;
    if (pool.max_bytes) {
        size_t left = pool.max_bytes - std::min<size_t>(pool.max_bytes, pool.reserved);
        chunk = std::min(chunk, left / kGranule * kGranule);
        if (chunk < bytes) return 0;
    }
    pool.reserved += chunk;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
    return chunk;
}

Error add_chunk(Pool &pool, size_t bytes, size_t granules, size_t asked, void **memory) {
    Device &device = pool.device;
    void *base = nullptr;
    Error error = device.driver().allocate(device.index, bytes, &base);
    PoolChunk *chunk = nullptr;
    if (error == infinirtSuccess) {
        chunk = ChunkTable::get().make(pool, base, bytes);
        if (chunk && !chunk->usable()) {
            ChunkTable::get().destroy(chunk);
            chunk = nullptr;
        }
        MemoryRange range;
        range.base = reinterpret_cast<uintptr_t>(base);
        range.bytes = bytes;
        range.kind = MemoryKind::Pool;
        range.device = &device;
        range.pool = &pool;
        range.chunk = chunk;
        std::lock_guard lock(pool.mutex());
        if (chunk && add_memory(range)) {
            pool.add_chunk(chunk);
            *memory = pool.take(chunk->head, granules, asked);
            return infinirtSuccess;
        }
        error = infinirtErrorMemoryAllocation;
    }
    if (chunk) ChunkTable::get().destroy(chunk);
    if (base) device.driver().release(device.index, base, bytes);
    std::lock_guard lock(pool.mutex());
    pool.reserved -= bytes;
    return error;
}

// The quick search failed: try other streams' memory, then ask the device.
Error allocate_slowly(Call &call, Pool &pool, Stream &stream, size_t granules, size_t bytes,
                      void **memory) {
    Error error = infinirtErrorMemoryAllocation;
    for (bool trimmed : {false, true}) {
        size_t chunk;
        Pool::Chunks given;
        {
            std::lock_guard lock(pool.mutex());
            if (PoolBlock *block = pool.find_thoroughly(stream, granules)) {
                *memory = pool.take(block, granules, bytes);
                return infinirtSuccess;
            }
            chunk = reserve(pool, granules * kGranule);
            // A pool at its limit can only free chunks that are too small, to allocate a larger
            // one.
            if (!chunk && !trimmed) pool.shrink(0, &given);
        }
        give_back(given);
        if (chunk) {
            error = add_chunk(pool, chunk, granules, bytes, memory);
            if (error != infinirtErrorMemoryAllocation)
                return call.driver(error, "growing the pool");
            if (!trimmed) trim_pools(pool.device);
        }
    }
    std::string explained = std::move(call.thread.explanation);
    call.thread.explanation.clear();
    if (pool.internal_dependencies.load(std::memory_order_relaxed)) {
        std::lock_guard lock(pool.mutex());
        if (PoolBlock *block = pool.find_to_wait_for(stream, granules)) {
            *memory = pool.take(block, granules, bytes);
            return infinirtSuccess;
        }
    }
    return call.fail(error, "no memory for %zu bytes in the pool of device %d%s%s", bytes,
                     pool.device.index, explained.empty() ? "" : ": ", explained.c_str());
}

}  // namespace

Pool *new_pool(Device &device, size_t max_bytes, bool is_default) {
    std::lock_guard lock(registry().mutex);
    if (is_default)
        if (Pool *made = device.default_pool.load(std::memory_order_acquire)) return made;
    Pool *pool = PoolTable::get().make(device, max_bytes, is_default);
    if (!pool) return nullptr;
    registry().pools.push_back(pool);
    if (is_default) device.default_pool.store(pool, std::memory_order_release);
    return pool;
}

void retire_pool(Pool &pool) {
    PoolTable::get().retire(&pool);
    Device &device = pool.device;
    Pool *own = &pool;
    device.current_pool.compare_exchange_strong(own, nullptr);
    {
        std::lock_guard lock(pool.mutex());
        pool.retired = true;
    }
    device.pool_excess.store(true, std::memory_order_relaxed);
    release_unused(device);
}

Pool *default_pool(Call &call, Device &device) {
    if (Pool *pool = device.default_pool.load(std::memory_order_acquire)) [[likely]]
        return pool;
    Pool *pool = new_pool(device, 0, true);
    if (!pool) call.fail(infinirtErrorMemoryAllocation, "too many memory pools");
    return pool;
}

Pool *current_pool(Call &call, Device &device) {
    Pool *pool = device.current_pool.load(std::memory_order_acquire);
    return pool ? pool : default_pool(call, device);
}

Error allocate_block(Call &call, Pool &pool, Stream &stream, size_t bytes, void **memory) {
    if (bytes > PTRDIFF_MAX)
        return call.fail(infinirtErrorMemoryAllocation, "no memory for %zu bytes", bytes);
    size_t granules = (bytes + kGranule - 1) / kGranule;
    {
        std::lock_guard lock(pool.mutex());
        if (PoolBlock *block = pool.find(stream, granules)) [[likely]] {
            *memory = pool.take(block, granules, bytes);
            return infinirtSuccess;
        }
    }
    return allocate_slowly(call, pool, stream, granules, bytes, memory);
}

namespace {

// The offset in the chunk of `range`. False if the chunk is gone. The pool is locked.
bool offset_in_chunk(const MemoryRange &range, const void *pointer, size_t *offset) {
    if (range.chunk->pool.load(std::memory_order_relaxed) != range.pool) return false;
    *offset = static_cast<size_t>(static_cast<const char *>(pointer) - range.chunk->memory);
    return *offset < range.chunk->bytes;
}

}  // namespace

Error free_block(Call &call, const MemoryRange &range, void *pointer, Stream *stream) {
    Pool &pool = *range.pool;
    bool last = false;
    {
        std::lock_guard lock(pool.mutex());
        size_t offset;
        PoolBlock *block = nullptr;
        if (offset_in_chunk(range, pointer, &offset) && offset % kGranule == 0)
            block = range.chunk->block_at(offset / kGranule);
        if (!block || block->bin)
            return call.invalid(
                "devPtr is %p: expected the address that an allocation gave and that was not freed",
                pointer);
        FreeBin *bin = &pool.settled_bin();
        FreePoint *point = nullptr;
        if (stream)
            if (Error error = pool.note_free(call, *stream, &bin, &point)) return error;
        pool.put_back(block, bin, point);
        last = pool.retired && pool.used == 0;
    }
    if (last) release_unused(*range.device);
    return infinirtSuccess;
}

bool inside_block(MemoryCache &cache, const MemoryRange &range, const void *pointer, size_t bytes) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    for (const MemoryCache::Block &known : cache.blocks) {
        size_t offset = address - known.base;
        if (offset < known.bytes && bytes <= known.bytes - offset &&
            known.seen == known.frees->load(std::memory_order_acquire))
            return true;
    }
    Pool &pool = *range.pool;
    std::lock_guard lock(pool.mutex());
    size_t offset;
    if (!offset_in_chunk(range, pointer, &offset)) return false;
    PoolBlock *block = range.chunk->block_over(offset / kGranule);
    if (block->bin) return false;
    MemoryCache::Block found{reinterpret_cast<uintptr_t>(block->address()), block->bytes,
                             &pool.frees, pool.frees.load(std::memory_order_relaxed)};
    cache.blocks[cache.next_block++ % MemoryCache::kBlocks] = found;
    offset = address - found.base;
    return offset < found.bytes && bytes <= found.bytes - offset;
}

void release_unused(Device &device) {
    if (!device.pool_excess.load(std::memory_order_relaxed)) [[likely]]
        return;
    device.pool_excess.store(false, std::memory_order_relaxed);
    Pool::Chunks given;
    reap_freed(device, &given);
    each_pool(device, [&](Pool &pool) {
        uint64_t keep = pool.retired ? 0 : pool.release_threshold.load(std::memory_order_relaxed);
        if (pool.reserved <= keep) return;
        pool.shrink(keep, &given);
        // Frees that a stream has not reached yet are left to a later synchronisation.
        if (pool.unsettled() > 0) device.pool_excess.store(true, std::memory_order_relaxed);
    });
    give_back(given);
}

bool trim_pools(Device &device) {
    bool swept = sweep_graph_leftovers();
    Pool::Chunks given;
    reap_freed(device, &given);
    each_pool(device, [&](Pool &pool) { pool.shrink(0, &given); });
    return give_back(given) || swept;
}

void reset_pools(Device &device) {
    Pool::Chunks given;
    reap_freed(device, &given);
    each_pool(device, [&](Pool &pool) { pool.forget_everything(&given); });
    give_back(given);
}

}  // namespace infini::rt
