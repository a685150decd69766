// nsa_compress_paged_cache: means of T over blocks of rows of 128. Of entries that write one mean
// the last stays: kStep 0 clears what will be written, 1 raises it to the last entry, 2 writes. N:
// the type of the tables and lengths.
#include "slots_params.h"
#include "words.cuh"

namespace infini {

constexpr int kDepth = 128, kVector = 8, kVectors = kDepth / kVector;

struct Block {
    int64_t target, page, row, count;  // target -1: there is none
};

INFINI_DEVICE Block block_of(const CompressParams &p, int64_t entry) {
    const int64_t sequence = entry / p.blocks;
    int64_t length = int64_t(static_cast<const N *>(p.lengths)[sequence * p.length_step]);
    const int64_t most = p.table_size * p.page_size;
    length = length < 0 ? 0 : length < most ? length : most;
    int64_t begin = (entry - sequence * p.blocks) * p.block;
    if (p.last_only) begin = (length - 1) / p.block * p.block;
    if (begin >= length) return {-1, 0, 0, 0};
    const int64_t in_table = begin / p.page_size;
    const int64_t page =
        int64_t(static_cast<const N *>(p.tables)[sequence * p.table_row + in_table * p.table_step]);
    if (page < 0 || page >= p.pages) return {-1, 0, 0, 0};
    const int64_t row = begin - in_table * p.page_size;
    const int64_t left = length - begin;
    return {(page * p.page_size + row) / p.block, page, row, left < p.block ? left : p.block};
}

// The block's threads take vectors of all heads, of keys and of values.
INFINI_DEVICE void average(const CompressParams &p, const Block &block) {
    for (int i = int(threadIdx.x); i < 2 * p.heads * kVectors; i += 256) {
        const int k = i / (p.heads * kVectors), rest = i - k * p.heads * kVectors;
        const int head = rest / kVectors, at = rest % kVectors * kVector;
        const T *from = static_cast<const T *>(p.cache[k]) + block.page * p.page[k] +
                        head * p.head[k] + block.row * p.row[k] + at;
        float sum[kVector] = {};
        for (int64_t r = 0; r < block.count; ++r, from += p.row[k]) {
            float x[kVector];
            widen(load_some<kVector>(from, p.whole), x);
#pragma unroll
            for (int j = 0; j < kVector; ++j) sum[j] += x[j];
        }
#pragma unroll
        for (int j = 0; j < kVector; ++j) sum[j] = sum[j] / float(block.count);
        T *to = static_cast<T *>(p.mean[k]) + block.target * p.mean_row[k] + head * p.mean_head[k];
        store_some<kVector>(to + at, narrow<T>(sum), p.whole);
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(CompressParams, 256, 1) {
    const int64_t entry = kStep < 2 ? grid_thread() : int64_t(blockIdx.x);
    if (entry >= p.sequences * p.blocks) return;
    const Block block = block_of(p, entry);
    if (block.target < 0) return;
    if constexpr (kStep == 0) {
        p.last[block.target] = -1;
    } else if constexpr (kStep == 1) {
        atomicMax(&p.last[block.target], int32_t(entry));
    } else if (p.last[block.target] == entry) {
        average(p, block);
    }
}
