// Counter-based random words: Philox 4x32-10, "Parallel random numbers: as easy as 1, 2, 3"
// (Salmon, Moraes, Dror and Shaw, 2011). Every block of four words depends only on its index and
// the seed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infini::cpu {

// The words of `blocks` blocks, starting with index `first`. The seed is the key, the block's index
// is the lower half of the counter.
inline void philox(uint32_t *words, uint64_t seed, uint64_t first, size_t blocks) {
    constexpr size_t kLanes = 16;  // blocks computed together
    uint32_t c[4][kLanes];
    for (size_t begin = 0; begin < blocks; begin += kLanes) {
        for (size_t i = 0; i < kLanes; ++i) {
            const uint64_t block = first + begin + i;
            c[0][i] = uint32_t(block), c[1][i] = uint32_t(block >> 32);
            c[2][i] = c[3][i] = 0;
        }
        uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
        for (int round = 0; round < 10; ++round) {
            for (size_t i = 0; i < kLanes; ++i) {
                const uint64_t a = uint64_t(c[0][i]) * 0xD2511F53u;
                const uint64_t b = uint64_t(c[2][i]) * 0xCD9E8D57u;
                c[0][i] = uint32_t(b >> 32) ^ c[1][i] ^ k0;
                c[2][i] = uint32_t(a >> 32) ^ c[3][i] ^ k1;
                c[1][i] = uint32_t(b), c[3][i] = uint32_t(a);
            }
            k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
        }
        const size_t count = blocks - begin < kLanes ? blocks - begin : kLanes;
        for (size_t i = 0; i < count; ++i)
            for (size_t word = 0; word < 4; ++word) words[4 * (begin + i) + word] = c[word][i];
    }
}

}  // namespace infini::cpu
