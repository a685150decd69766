// mxfp4_dequantize: 8 codes of e2m1 for each thread, which have one scale (e8m0).
#include "packed_params.h"
#include "words.cuh"

namespace infini {

// Half of the scale, which is never out of the range of F32; codes give twice their value.
INFINI_DEVICE float half_scale(int code) {
    return bit_cast<float>(code >= 2 ? uint32_t(code - 1) << 23 : 0x200000u << code);
}
INFINI_DEVICE float twice(uint32_t code) {
    const uint32_t magnitude = code & 7;
    const float value =
        magnitude < 4 ? float(magnitude) : float((2 + (magnitude & 1)) << ((magnitude >> 1) - 1));
    return code & 8 ? -value : value;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(Mxfp4Params, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.words.count) return;
    int64_t offset[3];
    p.words.at(i, offset);
    const uint32_t codes = load_word<uint32_t, uint8_t>(p.packed + offset[1], p.whole_packed);
    // The scale's stride counts words; four of them have one scale.
    const float half = half_scale(p.scales[offset[2] / 4]);
    float value[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) value[k] = twice(codes >> (4 * k)) * half;
    T *out = static_cast<T *>(p.out) + offset[0];
    if constexpr (sizeof(T) == 4) {
        float low[4] = {value[0], value[1], value[2], value[3]};
        float high[4] = {value[4], value[5], value[6], value[7]};
        store_some<4>(out, narrow<T>(low), p.whole_out);
        store_some<4>(out + 4, narrow<T>(high), p.whole_out);
    } else {
        store_some<8>(out, narrow<T>(value), p.whole_out);
    }
}
