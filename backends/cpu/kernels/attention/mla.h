// An entry of the MLA cache: 512 bytes of e4m3, an F32 scale per 128 of them, and a rotary key of
// 64 BF16.
#pragma once

#include <cstring>

#include "rows.h"

namespace infini::cpu {

inline constexpr int64_t kLatent = 512, kLatentGroup = 128, kLatentRope = 64;
inline constexpr int64_t kLatentDepth = kLatent + kLatentRope;
inline constexpr int64_t kScalesAt = kLatent, kRopeAt = kScalesAt + 16, kEntryBytes = kRopeAt + 128;

inline void read_entry(float *to, const char *entry) {
    float scales[4];
    std::memcpy(scales, entry + kScalesAt, sizeof scales);
    const f8 *codes = reinterpret_cast<const f8 *>(entry);
    for (int64_t i = 0; i < kLatent; i += kWidth<float>)
        store(to + i, load_f32(codes + i) * scales[i / kLatentGroup]);
    bf16 rope[kLatentRope];  // entries are only byte-aligned
    std::memcpy(rope, entry + kRopeAt, sizeof rope);
    for (int64_t i = 0; i < kLatentRope; i += kWidth<float>)
        store(to + kLatent + i, load_wide_f32(rope + i));
}

}  // namespace infini::cpu
