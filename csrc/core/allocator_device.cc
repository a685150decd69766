// The slow path of the allocator: large blocks, memory of the device, blocks that wait for events.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "allocator_state.h"
#include "infini/ext.h"
#include "keep.h"
#include "out_of_memory.h"
#include "runtime_services.h"

namespace infinicore::detail {
namespace {

constexpr size_t kLargeStep = 4096;                 // large sizes are multiples of it
constexpr size_t kSmallestRest = size_t{64} << 10;  // smaller remainders are not split off a block
constexpr size_t kSegmentBytes = size_t{16} << 20;  // the least size of a segment
constexpr size_t kMostCachedBytes = size_t{1} << 60;
constexpr size_t kShrinkTo = 8;   // the part of its memory that an allocator keeps after a shortage
constexpr size_t kTrimShare = 8;  // the part of its memory that is freed between trims

void join_with_next(LargeBlock *block) {
    LargeBlock *next = block->after;
    block->bytes += next->bytes;
    block->after = next->after;
    if (next->after) next->after->before = block;
    delete next;
}

// A free block with its node for the set of free ones.
std::unique_ptr<LargeBlock> new_large(std::byte *data, size_t bytes, infinirtStream_t stream) {
    std::unique_ptr<LargeBlock> block(
        new LargeBlock{{data, nullptr, nullptr}, bytes, stream, true, nullptr, nullptr, {}});
    std::set<LargeBlock *> one{block.get()};
    block->node = one.extract(one.begin());
    return block;
}

}  // namespace

// ---- Large blocks -------------------------------------------------------------------------------

LargeBlock *Allocator::State::find_large(size_t bytes, infinirtStream_t stream) {
    LargeBlock wanted{};
    wanted.stream = stream;
    wanted.bytes = bytes;
    auto found = large_.lower_bound(&wanted);
    if (found == large_.end() || (*found)->stream != stream) return nullptr;
    LargeBlock *block = *found;
    std::unique_ptr<LargeBlock> rest;
    if (block->bytes - bytes >= kSmallestRest)
        rest = new_large(block->data + bytes, block->bytes - bytes, stream);
    block->node = large_.extract(found);
    block->free = false;
    if (!rest) return block;
    rest->before = block;
    rest->after = block->after;
    if (rest->after) rest->after->before = rest.get();
    block->after = rest.get();
    block->bytes = bytes;
    large_.insert(std::move(rest.release()->node));
    return block;
}

void Allocator::State::give_large(LargeBlock *block) {
    if (LargeBlock *next = block->after; next && next->free) {
        large_.erase(next);
        join_with_next(block);
    }
    if (LargeBlock *before = block->before; before && before->free) {
        before->node = large_.extract(before);
        join_with_next(before);
        block = before;
    }
    block->free = true;
    large_.insert(std::move(block->node));
}

Block *Allocator::State::take_large(size_t bytes, infinirtStream_t stream) {
    if (bytes > kMostCachedBytes) no_memory(bytes);
    if (waiting_.load(std::memory_order_relaxed)) collect(false);
    size_t rounded = (bytes + kLargeStep - 1) / kLargeStep * kLargeStep;
    {
        std::lock_guard lock(mutex_);
        if (LargeBlock *found = find_large(rounded, stream)) return found;
    }
    // A segment has room for neighbours, if the device has it.
    void *memory = nullptr;
    size_t segment = std::max(rounded, kSegmentBytes);
    if (segment == rounded || !try_device(segment, &memory)) {
        segment = rounded;
        memory = from_device(rounded, bytes);
    }
    std::unique_ptr<LargeBlock> block;
    try {
        block = new_large(static_cast<std::byte *>(memory), segment, stream);
    } catch (...) {
        RuntimeScope scope(runtime);
        return_to_device(memory, segment, true);
        throw;
    }
    std::lock_guard lock(mutex_);
    large_.insert(std::move(block.release()->node));
    // Another thread may have left a block that fits better; the new one fits in any case.
    return find_large(rounded, stream);
}

// ---- The device's memory ------------------------------------------------------------------------

const char *Allocator::State::name() const {
    return kind == Kind::Pinned ? "allocatePinnedHostMemory" : "allocateMemory";
}

bool Allocator::State::try_device(size_t bytes, void **memory) {
    RuntimeScope scope(runtime);
    infiniStatus_t status =
        kind == Kind::Pinned ? infinirtMallocHost(memory, bytes) : infinirtMalloc(memory, bytes);
    if (status != INFINI_STATUS_SUCCESS) return false;
    if (kind == Kind::Device) infiniKeep(*memory);
    from_device_.fetch_add(1, std::memory_order_relaxed);
    raise(peak_reserved_, reserved_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
    return true;
}

void *Allocator::State::from_device(size_t bytes, size_t asked) {
    void *memory = nullptr;
    if (try_device(bytes, &memory)) return memory;
    std::string reason = infiniGetLastErrorMessage();
    trim(true);
    if (try_device(bytes, &memory)) return memory;
    note_shortage();
    size_t in_use = stats().allocated, reserved = reserved_.load();
    throw OutOfMemory(
        std::string(name()) + ": no memory for " + std::to_string(asked) + " bytes on " +
        runtime.device.toString() + ", where " + std::to_string(in_use) + " bytes are in use and " +
        std::to_string(reserved - std::min(reserved, in_use)) + " are cached: " + reason);
}

void Allocator::State::no_memory(size_t bytes) {
    throw OutOfMemory(std::string(name()) + ": size is " + std::to_string(bytes) +
                      ": expected at most " + std::to_string(kMostCachedBytes) + " bytes");
}

bool Allocator::State::return_to_device(void *memory, size_t bytes, bool wait) {
    if (kind == Kind::Device) infiniLetGo(memory);
    infiniStatus_t status = !wait                  ? infiniFreeIfIdle(memory)
                            : kind == Kind::Pinned ? infinirtFreeHost(memory)
                                                   : infinirtFree(memory);
    if (status != INFINI_STATUS_SUCCESS && !infiniIsFreed(memory)) {
        if (kind == Kind::Device) infiniKeep(memory);
        return false;
    }
    reserved_.fetch_sub(bytes, std::memory_order_relaxed);
    return true;
}

void Allocator::State::trim(bool wait) {
    if (waiting_.load()) collect(wait);
    // Other threads pass on what they hold when they see the new value.
    epoch_.fetch_add(1, std::memory_order_relaxed);
    empty_own_lanes(*this);
    release_unused(wait);
}

void Allocator::State::note_shortage() noexcept {
    if (kind != Kind::Pinned && runtime.device.getType() != Device::Type::CPU) return;
    shrink_to_.store(std::max<size_t>(reserved_.load() / kShrinkTo, 1));
    given_.store(0);
    try {
        trim(false);
    } catch (...) {  // the next block that is freed tries again
    }
}

// Trims a large share of the memory at once, because trimming is slow.
void Allocator::State::keep_less(size_t bytes) noexcept {
    const size_t reserved = reserved_.load();
    if (given_.fetch_add(bytes) + bytes < reserved / kTrimShare) return;
    given_.store(0);
    try {
        trim(false);
    } catch (...) {
        return;
    }
    if (reserved_.load() <= shrink_to_.load()) shrink_to_.store(0);
}

// Frees entirely unused slabs and segments. This may wait for the device, so it is done without the
// lock; what cannot be freed (while a graph is captured) is kept.
void Allocator::State::release_unused(bool wait) {
    std::vector<std::unique_ptr<Slab>> slabs;
    Block *segments = nullptr;  // a list by `next`: trimming needs little memory itself
    {
        std::lock_guard lock(mutex_);
        auto whole = std::partition(slabs_.begin(), slabs_.end(),
                                    [](const auto &slab) { return slab->stored < slab->count; });
        slabs.assign(std::move_iterator(whole), std::move_iterator(slabs_.end()));
        slabs_.erase(whole, slabs_.end());
        if (!slabs.empty())
            for (auto &[stream, store] : stores_)
                for (Block *&list : store.lists)
                    for (Block **link = &list; *link;) {
                        if ((*link)->slab->stored == (*link)->slab->count)
                            *link = (*link)->next;
                        else
                            link = &(*link)->next;
                    }
        for (auto each = large_.begin(); each != large_.end();) {
            if ((*each)->before || (*each)->after) {
                ++each;
                continue;
            }
            LargeBlock *segment = *each;
            auto next = std::next(each);
            segment->node = large_.extract(each);
            segment->next = std::exchange(segments, segment);
            each = next;
        }
    }
    std::optional<RuntimeScope> scope;
    try {
        scope.emplace(runtime);
    } catch (...) {  // nothing is returned
    }
    std::erase_if(slabs, [&](const auto &slab) {
        return scope && return_to_device(slab->memory, slab->bytes, wait);
    });
    Block *kept = nullptr;
    while (segments) {
        auto *segment = static_cast<LargeBlock *>(std::exchange(segments, segments->next));
        if (scope && return_to_device(segment->data, segment->bytes, wait))
            delete segment;
        else
            segment->next = std::exchange(kept, segment);
    }
    if (slabs.empty() && !kept) return;
    std::lock_guard lock(mutex_);
    for (auto &slab : slabs) {
        slab->stored = 0;
        stores_[slab->stream];
        for (size_t i = 0; i < slab->count; ++i) put_in_store(&slab->blocks[i]);
        slabs_.push_back(std::move(slab));
    }
    while (kept) {
        auto *segment = static_cast<LargeBlock *>(std::exchange(kept, kept->next));
        large_.insert(std::move(segment->node));
    }
}

// ---- Blocks that other streams used -------------------------------------------------------------

// An event after the work of every stream that used it. Pinned memory is used in its own stream
// while the host may write to the next owner's, so that one counts as well.
void Allocator::State::wait_for(Block *block, StreamUse *uses) {
    Pending pending{block, {}};
    RuntimeScope scope(runtime);
    auto mark = [&](infinirtStream_t stream) {
        infinirtEvent_t event = nullptr;
        if (infinirtEventCreateWithFlags(&event, INFINIRT_EVENT_DISABLE_TIMING) ==
            INFINI_STATUS_SUCCESS) {
            if (infinirtEventRecord(event, stream) == INFINI_STATUS_SUCCESS) {
                pending.events.push_back(event);
                return;
            }
            infinirtEventDestroy(event);
        }
        // The stream is gone, or is being captured: this waits for its earlier work.
        infini::QuietWaits quiet;
        infinirtDeviceSynchronize();
    };
    if (kind == Kind::Pinned) mark(block_stream(block));
    while (uses) {
        mark(uses->stream);
        delete std::exchange(uses, uses->next);
    }
    {
        std::lock_guard lock(mutex_);
        pending_.push_back(std::move(pending));
        waiting_.store(true, std::memory_order_relaxed);
    }
    collect(false);
}

void Allocator::State::collect(bool wait) {
    std::vector<Pending> inspected;
    {
        std::lock_guard lock(mutex_);
        inspected.swap(pending_);
        waiting_.store(false, std::memory_order_relaxed);
    }
    RuntimeScope scope(runtime);
    infini::QuietWaits quiet;
    auto happened = [&](infinirtEvent_t event) {
        infinirtEventStatus_t status = INFINIRT_EVENT_COMPLETE;
        if (wait)
            infinirtEventSynchronize(event);
        else if (infinirtEventQuery(event, &status) == INFINI_STATUS_SUCCESS &&
                 status != INFINIRT_EVENT_COMPLETE)
            return false;
        infinirtEventDestroy(event);
        return true;
    };
    std::erase_if(inspected, [&](Pending &pending) {
        std::erase_if(pending.events, happened);
        if (!pending.events.empty()) return false;
        give_now(pending.block);
        return true;
    });
    if (inspected.empty()) return;
    std::lock_guard lock(mutex_);
    std::move(inspected.begin(), inspected.end(), std::back_inserter(pending_));
    waiting_.store(true, std::memory_order_relaxed);
}

// ---- Figures ------------------------------------------------------------------------------------

context::MemoryStats Allocator::State::stats() const {
    std::lock_guard lock(mutex_);
    size_t allocations = past_allocations_;
    ptrdiff_t in_use = in_use_.load(), highest = in_use, peak = peak_in_use_.load();
    for (const Lane *lane : lanes_) {
        allocations += lane->allocations.load();
        in_use += lane->used.load();
        highest += lane->highest.load();
    }
    in_use = std::max<ptrdiff_t>(in_use, 0);  // other threads keep allocating meanwhile
    return {size_t(in_use),        reserved_.load(), size_t(std::max({peak, highest, in_use})),
            peak_reserved_.load(), allocations,      from_device_.load()};
}

void Allocator::State::reset_peaks() {
    std::lock_guard lock(mutex_);
    peak_in_use_.store(in_use_.load());
    for (Lane *lane : lanes_) lane->highest.store(lane->used.load());
    peak_reserved_.store(reserved_.load());
}

}  // namespace infinicore::detail
