// How a pool divides its memory: chunks of device memory, blocks within them, lists of free blocks.
//
// Nothing here locks or orders anything; a Pool does, and guards all of it with its mutex.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace infini::rt {

struct Pool;
struct PoolChunk;
struct FreeBin;
struct FreePoint;

constexpr size_t kGranule = 512;       // sizes are rounded up to it, addresses are multiples of it
constexpr size_t kSmallGranules = 64;  // up to here free blocks stay apart until memory runs short
constexpr size_t kChunkBytes = size_t{2} << 20;  // chunks are multiples of it

struct PoolBlock {
    PoolChunk *chunk;
    size_t first, granules;      // place within the chunk
    PoolBlock *before, *after;   // neighbours in the chunk
    size_t bytes;                // as asked for; live blocks only
    FreeBin *bin;                // whose list it is in; null while it is live
    FreePoint *point;            // where it was freed; null in the bin of all
    PoolBlock *previous, *next;  // in that list

    void *address() const;
};

// One allocation from the driver. It lives in a HandleTable, whose memory is never released: an
// outdated look-up may still read `pool`, which is null then.
struct PoolChunk {
    PoolChunk(Pool &pool, void *memory, size_t bytes);
    ~PoolChunk();

    std::atomic<Pool *> pool;
    char *const memory;
    const size_t bytes;
    PoolBlock *head = nullptr;  // its first block

    bool usable() const { return starts_ && marks_; }  // false: no memory for the tables
    void mark(PoolBlock *block);
    void unmark(const PoolBlock *block);
    PoolBlock *block_at(size_t granule) const { return starts_[granule]; }
    // The block that contains a granule.
    PoolBlock *block_over(size_t granule) const;

private:
    // By granule: the block that begins there, and one bit for the same to search backwards. Mostly
    // untouched zeros.
    PoolBlock **starts_;
    uint64_t *marks_;
};

inline void *PoolBlock::address() const { return chunk->memory + first * kGranule; }

// Free blocks by size class: one class per small size, four per power of two above.
class FreeLists {
public:
    void push(PoolBlock *block) {
        unsigned at = class_of(block->granules);
        block->previous = nullptr;
        block->next = heads_[at];
        if (heads_[at]) heads_[at]->previous = block;
        heads_[at] = block;
        filled_[at / 64] |= uint64_t{1} << (at % 64);
        ++count_;
    }

    void remove(PoolBlock *block) {
        if (block->next) block->next->previous = block->previous;
        --count_;
        if (block->previous) {
            block->previous->next = block->next;
            return;
        }
        unsigned at = class_of(block->granules);
        heads_[at] = block->next;
        if (!heads_[at]) filled_[at / 64] &= ~(uint64_t{1} << (at % 64));
    }

    // The smallest block of at least `granules` for which usable(const PoolBlock&) holds.
    template <class Usable>
    PoolBlock *best(size_t granules, Usable usable) const {
        for (unsigned at = next_filled(class_of(granules)); at < kClasses;
             at = next_filled(at + 1)) {
            PoolBlock *found = nullptr;
            for (PoolBlock *block = heads_[at]; block; block = block->next) {
                if (block->granules < granules || (found && block->granules >= found->granules))
                    continue;
                if (!usable(*block)) continue;
                found = block;
                if (block->granules == granules) break;
            }
            if (found) return found;
        }
        return nullptr;
    }

    template <class Visit>
    void each(Visit visit) const {
        for (PoolBlock *head : heads_)
            for (PoolBlock *block = head; block; block = block->next) visit(block);
    }

    size_t size() const { return count_; }

private:
    static constexpr unsigned kClasses = 256;

    static unsigned class_of(size_t granules) {
        if (granules <= kSmallGranules) return static_cast<unsigned>(granules) - 1;
        unsigned power = static_cast<unsigned>(std::bit_width(granules)) - 1;  // 6 and above
        unsigned quarter = static_cast<unsigned>(granules >> (power - 2)) & 3;
        unsigned at = kSmallGranules + (power - 6) * 4 + quarter;
        return at < kClasses ? at : kClasses - 1;
    }

    unsigned next_filled(unsigned from) const {
        for (unsigned word = from / 64; word < filled_.size(); ++word) {
            uint64_t bits = filled_[word];
            if (word == from / 64) bits &= ~uint64_t{0} << (from % 64);
            if (bits) return word * 64 + static_cast<unsigned>(std::countr_zero(bits));
        }
        return kClasses;
    }

    std::array<PoolBlock *, kClasses> heads_{};
    std::array<uint64_t, kClasses / 64> filled_{};
    size_t count_ = 0;
};

}  // namespace infini::rt
