// Random words by a counter: Philox 4x32-10, "Parallel random numbers: as easy as 1, 2, 3" (Salmon,
// Moraes, Dror and Shaw, 2011). Every block of four words depends on its number and the seed alone.
#pragma once

namespace infini {

struct Words {
    uint32_t word[4];

    INFINI_DEVICE uint64_t wide(int i) const {
        return word[2 * i] | uint64_t(word[2 * i + 1]) << 32;
    }
};

// The seed is the key, the block's number the lower half of the counter.
INFINI_DEVICE Words philox(uint64_t seed, uint64_t block) {
    uint32_t c0 = uint32_t(block), c1 = uint32_t(block >> 32), c2 = 0, c3 = 0;
    uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t(c0) * 0xD2511F53u, b = uint64_t(c2) * 0xCD9E8D57u;
        c0 = uint32_t(b >> 32) ^ c1 ^ k0;
        c2 = uint32_t(a >> 32) ^ c3 ^ k1;
        c1 = uint32_t(b), c3 = uint32_t(a);
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

}  // namespace infini
