// The blocks of a pool: allocation, freeing, splitting, merging, and releasing chunks.
#include <algorithm>

#include "pool.h"

namespace infini::rt {

Pool::Pool(Device &device, size_t max_bytes, bool is_default)
    : device(device),
      max_bytes(max_bytes),
      is_default(is_default),
      settled_(std::make_unique<FreeBin>()) {}

Pool::~Pool() {
    for (auto &[number, bin] : bins_) {
        for (FreePoint *point : bin->pending) {
            if (point->event) bin->device->driver().event_destroy(bin->device->index, point->event);
            if (point != bin->last) delete point;
        }
        delete bin->last;
    }
    for (PoolBlock *block : spare_blocks_) delete block;
    for (FreePoint *point : spare_points_) delete point;
    for (void *event : spare_events_) device.driver().event_destroy(device.index, event);
}

size_t Pool::unsettled() const {
    size_t count = 0;
    for (const auto &[number, bin] : bins_) count += bin->lists.size();
    return count;
}

void *Pool::take(PoolBlock *block, size_t granules, size_t bytes) {
    FreeBin *bin = block->bin;
    bin->lists.remove(block);
    if (block->granules > granules) {
        PoolBlock *rest;
        if (spare_blocks_.empty()) {
            rest = new PoolBlock;
        } else {
            rest = spare_blocks_.back();
            spare_blocks_.pop_back();
        }
        rest->chunk = block->chunk;
        rest->first = block->first + granules;
        rest->granules = block->granules - granules;
        rest->before = block;
        rest->after = block->after;
        if (rest->after) rest->after->before = rest;
        block->after = rest;
        block->granules = granules;
        rest->bin = bin;
        rest->point = block->point;
        if (rest->point) ++rest->point->references;
        rest->chunk->mark(rest);
        bin->lists.push(rest);
    }
    if (block->point) drop(block->point);
    block->point = nullptr;
    block->bin = nullptr;
    block->bytes = bytes;
    used += bytes;
    used_high = std::max(used_high, used);
    return block->address();
}

void Pool::put_back(PoolBlock *block, FreeBin *bin, FreePoint *point) {
    used -= block->bytes;
    frees.store(frees.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    block->bin = bin;
    block->point = point;
    if (point) ++point->references;
    // Small blocks are likely to be requested again in the same size.
    if (block->granules > kSmallGranules || !point) merge(block);
    bin->lists.push(block);
    if (reserved > release_threshold.load(std::memory_order_relaxed) || retired)
        if (!device.pool_excess.load(std::memory_order_relaxed))
            device.pool_excess.store(true, std::memory_order_relaxed);
}

// Merges `block`, which is in no list yet, with free neighbours of the same bin. It keeps its
// identity; a merged neighbour has no granules.
void Pool::merge(PoolBlock *block) {
    PoolChunk &chunk = *block->chunk;
    if (PoolBlock *next = block->after; next && next->bin == block->bin) {
        chunk.unmark(next);
        block->granules += next->granules;
        block->after = next->after;
        if (block->after) block->after->before = block;
        absorb(block, next);
    }
    if (PoolBlock *before = block->before; before && before->bin == block->bin) {
        chunk.unmark(block);
        chunk.unmark(before);
        block->first = before->first;
        block->granules += before->granules;
        block->before = before->before;
        (block->before ? block->before->after : chunk.head) = block;
        chunk.mark(block);
        absorb(block, before);
    }
}

void Pool::absorb(PoolBlock *block, PoolBlock *neighbour) {
    neighbour->bin->lists.remove(neighbour);
    // Of one stream, so the later place covers both.
    if (block->point && neighbour->point->order > block->point->order)
        std::swap(block->point, neighbour->point);
    if (neighbour->point) drop(neighbour->point);
    neighbour->granules = 0;
    spare_blocks_.push_back(neighbour);
}

void Pool::settle(bool everywhere) {
    std::vector<PoolBlock *> blocks;
    for (auto &[number, bin] : bins_) {
        poll(*bin, true);
        bin->lists.each([&](PoolBlock *block) { blocks.push_back(block); });
    }
    for (PoolBlock *block : blocks) {
        if (block->granules == 0) continue;  // it was merged into a neighbour
        block->bin->lists.remove(block);
        if (everywhere && block->point->complete) {
            drop(block->point);
            block->point = nullptr;
            block->bin = settled_.get();
        }
        merge(block);
        block->bin->lists.push(block);
    }
    // Streams are short-lived, so unused bins are removed.
    for (auto it = bins_.begin(); it != bins_.end();) {
        FreeBin &bin = *it->second;
        if (bin.lists.size() > 0 || !bin.pending.empty()) {
            ++it;
            continue;
        }
        if (bin.last) drop(bin.last);
        if (last_bin_ == &bin) last_bin_ = nullptr;
        it = bins_.erase(it);
    }
}

void Pool::add_chunk(PoolChunk *chunk) {
    auto *block = new PoolBlock{chunk,   0,      chunk->bytes / kGranule, nullptr,
                                nullptr, 0,      settled_.get(),          nullptr,
                                nullptr, nullptr};
    chunk->head = block;
    chunk->mark(block);
    chunks_.push_back(chunk);
    settled_->lists.push(block);
}

void Pool::remove_chunk(PoolChunk *chunk, Chunks *given) {
    MemoryRange range;
    remove_memory(chunk->memory, MemoryKind::Pool, &range);
    given->push_back({&device, chunk->memory, chunk->bytes});
    reserved -= chunk->bytes;
    chunk->pool.store(nullptr, std::memory_order_relaxed);
    ChunkTable::get().destroy(chunk);
}

void Pool::shrink(uint64_t keep, Chunks *given) {
    settle(true);
    std::erase_if(chunks_, [&](PoolChunk *chunk) {
        PoolBlock *block = chunk->head;
        bool unused = block->bin == settled_.get() && !block->after;
        if (!unused || reserved < keep + chunk->bytes) return false;
        settled_->lists.remove(block);
        spare_blocks_.push_back(block);
        remove_chunk(chunk, given);
        return true;
    });
}

void Pool::forget_everything(Chunks *given) {
    for (PoolChunk *chunk : chunks_)
        for (PoolBlock *block = chunk->head; block; block = block->after)
            if (!block->bin) put_back(block, settled_.get(), nullptr);
    shrink(0, given);
}

}  // namespace infini::rt
