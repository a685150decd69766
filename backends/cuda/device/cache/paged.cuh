// paged_caching: a block writes the keys and values of a token, in words W of elements E.
#include "slots.cuh"
#include "words.cuh"

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
