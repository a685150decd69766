// Writes tokens to slots of a KV cache. If several tokens have the same slot, the last one is
// stored.
#pragma once

#include "places.h"

namespace infini {

struct SlotsParams {
    const int64_t *slots;  // one per token
    int64_t stride, tokens;
    int64_t count;  // number of slots in the cache
    int32_t *last;  // last token of each slot; null: later tokens are searched
};

struct PagedCacheParams {
    SlotsParams slots;
    void *cache[2];  // keys and values; strides in bytes
    const void *from[2];
    int64_t page[2], row[2], cache_head[2];
    int64_t token[2], head[2];
    Divider words[2];  // words per head
    int32_t count[2];  // words per token
    int64_t page_size;
    int32_t whole;
};

struct MlaCacheParams {
    SlotsParams slots;
    uint8_t *cache;
    void *plain;  // a second cache, in BF16; may be null
    const void *latent, *weight, *rope;
    int64_t latent_stride, rope_stride;
    double eps;
};

// Appends rows to caches [B, H, M, D]. Strides are in bytes.
struct AppendParams {
    void *cache[2];
    const void *from[2];
    const void *past;
    Places<4> words[2];  // in the cache (at row 0), the appended tensor, the row, the past length
    int64_t row[2];      // stride of the cache's rows
    int64_t rows;        // rows of the caches
    int32_t whole;
};

// Means of blocks of a paged cache: [2] for keys and values. Strides are in elements.
struct CompressParams {
    void *mean[2];
    const void *cache[2], *tables, *lengths;
    int32_t *last;  // the last entry (of all blocks of all sequences) that writes each mean
    int64_t mean_row[2], mean_head[2], page[2], head[2], row[2];
    int64_t table_row, table_step, length_step;
    int64_t sequences, table_size, pages, page_size, block;
    int64_t blocks;  // entries per sequence
    int32_t heads, last_only, whole;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

// The slot of a token, if no later token has the same slot.
namespace infini {

INFINI_DEVICE int64_t slot_of(const SlotsParams &p, int64_t token) {
    const int64_t slot = p.slots[token * p.stride];
    return slot >= 0 && slot < p.count ? slot : -1;
}

// Called by all threads of a block with the same token; -1: the token is not written.
INFINI_DEVICE int64_t slot_of_block(const SlotsParams &p, int64_t token) {
    const int64_t slot = slot_of(p, token);
    if (slot < 0) return -1;
    if (p.last) return p.last[slot] == token ? slot : -1;
    bool later = false;
    for (int64_t i = token + 1 + threadIdx.x; i < p.tokens; i += blockDim.x)
        later = later || p.slots[i * p.stride] == slot;
    return __syncthreads_or(later) ? -1 : slot;
}

}  // namespace infini

#ifdef INFINI_KERNEL_SLOTS_APPEND
// kv_caching: appends words W of elements E after the past rows, whose number has type L. Keys and
// values are the two rows of the grid.
using namespace infini;

INFINI_ENTRY(AppendParams, 256, 1) {
    const int k = int(blockIdx.y);
    const int64_t i = grid_thread();
    if (i >= p.words[k].count) return;
    int64_t offset[4];
    p.words[k].at(i, offset);
    const int64_t past = int64_t(static_cast<const L *>(p.past)[offset[3]]);
    const int64_t row = past + offset[2];
    if (past >= p.rows || row < 0 || row >= p.rows) return;
    store_word<E>(static_cast<char *>(p.cache[k]) + offset[0] + row * p.row[k],
                  load_word<W, E>(static_cast<const char *>(p.from[k]) + offset[1], p.whole),
                  p.whole);
}
#endif

#ifdef INFINI_KERNEL_SLOTS_PAGED
// paged_caching: a block writes the keys and values of a token in words W of elements E.
using namespace infini;

INFINI_ENTRY(PagedCacheParams, 256, 1) {
    const int64_t token = blockIdx.x, slot = slot_of_block(p.slots, token);
    if (slot < 0) return;
    const int64_t page = slot / p.page_size, row = slot - page * p.page_size;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        char *cache = static_cast<char *>(p.cache[k]) + page * p.page[k] + row * p.row[k];
        const char *from = static_cast<const char *>(p.from[k]) + token * p.token[k];
        for (int i = int(threadIdx.x); i < p.count[k]; i += 256) {
            const Quotient at = p.words[k].split(uint32_t(i));
            const int64_t word = at.remainder * int64_t(sizeof(W));
            store_word<E>(cache + at.quotient * p.cache_head[k] + word,
                          load_word<W, E>(from + at.quotient * p.head[k] + word, p.whole), p.whole);
        }
    }
}
#endif

#ifdef INFINI_KERNEL_SLOTS_LAST
// Finds the last token of each slot in use: such slots are first cleared (kClear), then set by
// atomic maximum.
using namespace infini;

INFINI_ENTRY(SlotsParams, 256, 1) {
    const int64_t token = grid_thread();
    if (token >= p.tokens) return;
    const int64_t slot = slot_of(p, token);
    if (slot < 0) return;
    if (kClear)
        p.last[slot] = -1;
    else
        atomicMax(&p.last[slot], int32_t(token));
}
#endif

#ifdef INFINI_KERNEL_SLOTS_MLA
// fp8_mla_rmsnorm_cache: a block normalises a token's latent and stores it in e4m3. An entry is 512
// codes, an F32 scale for each 128 of them, and 64 BF16 elements of the rotary key. T: the type of
// the weights.
namespace infini {

constexpr int kThreads = 128, kLatent = 512, kGroup = 128, kRope = 64;
constexpr int kScalesAt = kLatent, kRopeAt = kScalesAt + 16, kEntry = kRopeAt + 2 * kRope;
constexpr float kLargestCode = 448.0f;

}  // namespace infini

using namespace infini;

INFINI_ENTRY(MlaCacheParams, kThreads, 1) {
    const int64_t token = blockIdx.x, slot = slot_of_block(p.slots, token);
    if (slot < 0) return;
    const int thread = int(threadIdx.x);
    const bf16 *latent = static_cast<const bf16 *>(p.latent) + token * p.latent_stride;
    uint8_t *entry = p.cache + slot * kEntry;
    bf16 *plain = p.plain ? static_cast<bf16 *>(p.plain) + slot * (kLatent + kRope) : nullptr;
    // Element g * kGroup + thread of each group. In doubles, because rounding to codes follows.
    double x[kLatent / kGroup], squares = 0;
#pragma unroll
    for (int g = 0; g < kLatent / kGroup; ++g) {
        x[g] = double(to_float(latent[g * kGroup + thread]));
        squares += x[g] * x[g];
    }
    squares = fold_block<kThreads>(squares, fold::Sum());
    const double factor = 1 / sqrt(squares / kLatent + p.eps);
#pragma unroll
    for (int g = 0; g < kLatent / kGroup; ++g) {
        const int at = g * kGroup + thread;
        const double weight = convert<double>(static_cast<const T *>(p.weight)[at]);
        const float value = to_float(convert<bf16>(x[g] * factor * weight));
        const float size = value < 0 ? -value : value;
        const float most = fold_block<kThreads>(size == size ? size : 0.0f, fold::Max());
        const float scale = most / kLargestCode;
        const f8 code = convert<f8>(scale > 0 ? value / scale : 0.0f);
        entry[at] = code.bits;
        if (plain) plain[at] = convert<bf16>(to_float(code) * scale);
        if (thread < 4)  // entries are only byte-aligned
            entry[kScalesAt + 4 * g + thread] = uint8_t(bit_cast<uint32_t>(scale) >> (8 * thread));
    }
    if (thread >= kRope) return;
    const bf16 rope = static_cast<const bf16 *>(p.rope)[token * p.rope_stride + thread];
    entry[kRopeAt + 2 * thread] = uint8_t(rope.bits);
    entry[kRopeAt + 2 * thread + 1] = uint8_t(rope.bits >> 8);
    if (plain) plain[kLatent + thread] = rope;
}
#endif

#ifdef INFINI_KERNEL_SLOTS_COMPRESS
// nsa_compress_paged_cache: means of T over blocks of rows of 128. If several entries write the
// same mean, the last one is stored: kStep 0 clears what will be written, 1 finds the last entry by
// atomic maximum, 2 writes. N: the type of the tables and lengths.
namespace infini {

constexpr int kDepth = 128, kVector = 8, kVectors = kDepth / kVector;

struct Block {
    int64_t target, page, row, count;  // target -1: none
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

// The block's threads process vectors of all heads, of keys and of values.
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
#endif

#endif  // INFINI_DEVICE
