// The caching allocator's state for one device.
//
// Small sizes fall into size classes. Blocks of a class are adjacent in a slab, one allocation of
// the device, that serves one stream. A freed block goes to a lane, which belongs to one thread
// and so needs no lock; full lanes pass blocks on to the stream's store, and empty ones take from
// it. Large blocks are cut from segments, best fit first, and coalesced with free neighbours. A
// block that other streams used waits for their events before it is reused.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "../runtime/fork_lock.h"
#include "allocator.h"
#include "runtime.h"

namespace infinicore::detail {

// ---- Sizes: multiples of 64 up to 512 bytes, four for each power of two up to 1 MiB -------------

constexpr unsigned kClasses = 52;
constexpr size_t kLargestClass = size_t{1} << 20;

inline unsigned class_of(size_t bytes) {
    if (bytes <= 512) return unsigned((bytes + 63) / 64) - 1;
    size_t last = bytes - 1;
    unsigned power = unsigned(std::bit_width(last)) - 1;
    return 8 + (power - 9) * 4 + unsigned(last >> (power - 2) & 3);
}
inline size_t class_bytes(unsigned number) {
    if (number < 8) return (number + 1) * size_t{64};
    number -= 8;
    return size_t{5 + number % 4} << (7 + number / 4);
}

// ---- Blocks -------------------------------------------------------------------------------------

struct Slab;

struct Block {
    std::byte *data;
    Slab *slab;  // null: a LargeBlock
    Block *next;
};

struct Slab {
    std::byte *memory;
    size_t bytes;
    infinirtStream_t stream;
    unsigned size_class;
    size_t block_bytes;
    size_t count;
    size_t stored;  // how many of its blocks are in the store
    std::unique_ptr<Block[]> blocks;
};

struct LargeBlock;
using LargeNode = std::set<LargeBlock *>::node_type;

struct LargeBlock : Block {
    size_t bytes;
    infinirtStream_t stream;
    bool free;
    LargeBlock *before, *after;  // neighbours in the segment; both null: it is the whole segment
    LargeNode node;              // while it is in use: freeing it needs no memory
};

struct LargeOrder {
    bool operator()(const LargeBlock *a, const LargeBlock *b) const {
        if (a->stream != b->stream) return a->stream < b->stream;
        if (a->bytes != b->bytes) return a->bytes < b->bytes;
        return a->data < b->data;
    }
};

inline infinirtStream_t block_stream(const Block *block) {
    return block->slab ? block->slab->stream : static_cast<const LargeBlock *>(block)->stream;
}
inline size_t block_bytes(const Block *block) {
    return block->slab ? block->slab->block_bytes : static_cast<const LargeBlock *>(block)->bytes;
}

// A stream besides the block's own that used it.
struct StreamUse {
    infinirtStream_t stream;
    StreamUse *next;
};

struct Pending {
    Block *block;
    std::vector<infinirtEvent_t> events;
};

// ---- Lanes: what a thread keeps at hand ---------------------------------------------------------

struct Lane {
    Allocator::State *owner;
    infinirtStream_t stream;
    unsigned epoch;    // of the owner's last trim that was followed
    size_t bytes = 0;  // in the lists
    std::array<Block *, kClasses> lists{};
    // Written by its own thread only, so without locks; others may read.
    std::atomic<size_t> allocations{0};
    std::atomic<ptrdiff_t> used{0};     // net bytes not yet reported to the owner
    std::atomic<ptrdiff_t> highest{0};  // of `used`
};

// ---- The allocator ------------------------------------------------------------------------------

class Allocator::State {
public:
    State(DeviceRuntime &runtime, Kind kind) : runtime(runtime), kind(kind) {}

    Block *take(size_t bytes, infinirtStream_t stream);
    void give(Block *block, StreamUse *uses) noexcept;
    // Frees unused memory; without `wait` only if the device is idle. A collective in another
    // stream may be waiting for the very thread that waits for the device.
    void trim(bool wait);
    void note_shortage() noexcept;
    context::MemoryStats stats() const;
    void reset_peaks();
    void join(Lane &lane);            // a lane of a thread begins
    void leave(Lane &lane) noexcept;  // and ends
    void follow_trim(Lane &lane);

    DeviceRuntime &runtime;
    const Kind kind;

private:
    struct Store {
        std::array<Block *, kClasses> lists{};
    };

    Block *take_small(unsigned size_class, Lane *lane, infinirtStream_t stream);
    Block *take_large(size_t bytes, infinirtStream_t stream);
    void give_now(Block *block) noexcept;
    void put(Block *block, Lane *lane) noexcept;
    Lane *own_lane(infinirtStream_t stream) noexcept;  // null: there is none
    void give_large(LargeBlock *block);
    void wait_for(Block *block, StreamUse *uses);
    void collect(bool wait);  // blocks whose events have completed
    void spill(Lane &lane, bool all);
    void put_in_store(Block *block);
    void keep_less(size_t bytes) noexcept;
    LargeBlock *find_large(size_t bytes, infinirtStream_t stream);
    // Memory of the device, after a trim if there is none immediately; throws.
    void *from_device(size_t bytes, size_t asked);
    bool try_device(size_t bytes, void **memory);
    bool return_to_device(void *memory, size_t bytes, bool wait);
    void release_unused(bool wait);
    bool many_stores();
    [[noreturn]] void no_memory(size_t bytes);
    void count(Lane *lane, ptrdiff_t bytes) noexcept;
    void report(Lane &lane) noexcept;
    const char *name() const;

    mutable infini::rt::ForkSafeMutex mutex_{infini::rt::LockRank::Pool};
    std::unordered_map<infinirtStream_t, Store> stores_;
    std::vector<std::unique_ptr<Slab>> slabs_;
    std::set<LargeBlock *, LargeOrder> large_;
    std::vector<Pending> pending_;
    std::vector<Lane *> lanes_;
    size_t past_allocations_ = 0;  // of lanes that ended

    std::atomic<unsigned> epoch_{0};
    std::atomic<bool> waiting_{false};                   // is anything pending?
    std::atomic<ptrdiff_t> in_use_{0}, peak_in_use_{0};  // in addition to the lanes' counts
    std::atomic<size_t> reserved_{0}, peak_reserved_{0};
    std::atomic<size_t> from_device_{0};
    // After a shortage, freed memory is returned to the system until the allocator holds no more
    // than this; 0: it is kept. Only for memory that the rest of the program could use.
    std::atomic<size_t> shrink_to_{0};
    std::atomic<size_t> given_{0};  // since the last trim, while shrinking
};

template <class T>
void raise(std::atomic<T> &peak, T value) {
    T now = peak.load(std::memory_order_relaxed);
    while (value > now && !peak.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
    }
}

// Makes the calling thread's lanes of an allocator pass everything on.
void empty_own_lanes(Allocator::State &state);

}  // namespace infinicore::detail
