#include "pool_blocks.h"

#include <cstdlib>

namespace infini::rt {

// calloc returns large tables as pages that are not backed by memory until a block begins there.
PoolChunk::PoolChunk(Pool &pool, void *memory, size_t bytes)
    : pool(&pool),
      memory(static_cast<char *>(memory)),
      bytes(bytes),
      starts_(static_cast<PoolBlock **>(calloc(bytes / kGranule, sizeof(PoolBlock *)))),
      marks_(static_cast<uint64_t *>(calloc(bytes / kGranule / 64 + 1, sizeof(uint64_t)))) {}

PoolChunk::~PoolChunk() {
    free(starts_);
    free(marks_);
}

void PoolChunk::mark(PoolBlock *block) {
    starts_[block->first] = block;
    marks_[block->first / 64] |= uint64_t{1} << (block->first % 64);
}

void PoolChunk::unmark(const PoolBlock *block) {
    starts_[block->first] = nullptr;
    marks_[block->first / 64] &= ~(uint64_t{1} << (block->first % 64));
}

PoolBlock *PoolChunk::block_over(size_t granule) const {
    size_t word = granule / 64;
    uint64_t bits = marks_[word] & (~uint64_t{0} >> (63 - granule % 64));
    while (!bits) bits = marks_[--word];  // the first granule always begins a block
    return starts_[word * 64 + 63 - static_cast<size_t>(std::countl_zero(bits))];
}

}  // namespace infini::rt
