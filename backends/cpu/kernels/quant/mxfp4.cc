// mxfp4_dequantize. There are 16 codes and 256 scales, so the plan stores, for each scale, the
// bytes of all 16 results; a byte shuffle then looks up 16 codes at a time.
#include <array>

#include "convert.h"
#include "floats.h"
#include "quant/rows.h"
#include "threads.h"

namespace infini::cpu {
namespace {

typedef uint8_t Bytes __attribute__((vector_size(16)));

struct Codes {
    Bytes low, high;  // of 16-bit results; of F32 these are the upper halves, the lower are 0
};

// The codes are doubled and the scale halved, so that neither leaves the range of F32.
float half_scale(int code) {
    return std::bit_cast<float>(code >= 2 ? uint32_t(code - 1) << 23 : 0x200000u << code);
}

template <class T>
Codes codes_of(int scale) {
    constexpr float kTwice[8] = {0, 1, 2, 3, 4, 6, 8, 12};
    Codes codes;
    for (int code = 0; code < 16; ++code) {
        const float value = kTwice[code & 7] * half_scale(scale);
        std::conditional_t<std::is_same_v<T, f16>, f16, bf16> result;
        from_float(result, code & 8 ? -value : value);
        codes.low[code] = uint8_t(result.bits), codes.high[code] = uint8_t(result.bits >> 8);
    }
    return codes;
}

Bytes interleave_low(Bytes a, Bytes b) {
    const Bytes order = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23};
    return __builtin_shuffle(a, b, order);
}
Bytes interleave_high(Bytes a, Bytes b) {
    const Bytes order = {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return __builtin_shuffle(a, b, order);
}

template <class T>
INFINI_SIMD void store_sixteen(T *out, Bytes index, const Codes &codes) {
    const Bytes low = __builtin_shuffle(codes.low, index);
    const Bytes high = __builtin_shuffle(codes.high, index);
    const Bytes first = interleave_low(low, high), second = interleave_high(low, high);
    if constexpr (sizeof(T) == 2) {
        std::memcpy(out, &first, 16);
        std::memcpy(out + 8, &second, 16);
    } else {
        typedef uint32_t Words __attribute__((vector_size(32)));
        typedef uint16_t Halves __attribute__((vector_size(16)));
        const Words a = __builtin_convertvector(Halves(first), Words) << 16;
        const Words b = __builtin_convertvector(Halves(second), Words) << 16;
        std::memcpy(out, &a, 32);
        std::memcpy(out + 8, &b, 32);
    }
}

template <class T>
std::unique_ptr<Plan> plan_for(const Operation &op) {
    const Tensor tensors[3] = {op.tensor(0), op.tensor(1), op.tensor(2)};
    const Rows<3> rows(tensors, tensors[0].ndim - 1);
    const int64_t blocks = tensors[0].size(-1) / 32;  // blocks of 32 columns
    auto table = std::make_shared<std::array<Codes, 256>>();
    for (int scale = 0; scale < 256; ++scale) (*table)[scale] = codes_of<T>(scale);

    return make_plan([=](const Arguments &arguments) {
        const Codes *codes = table->data();
        T *out = arguments.pointer<T>(0);
        const uint8_t *packed = arguments.pointer<const uint8_t>(1);
        const uint8_t *scales = arguments.pointer<const uint8_t>(2);
        constexpr int64_t kPiece = 64;
        const int64_t pieces = (blocks + kPiece - 1) / kPiece;
        const int64_t piece_blocks = blocks < kPiece ? blocks : kPiece;
        if (blocks == 0) return;
        parallel_for(rows.count * pieces, 1024 / piece_blocks, [&](size_t begin, size_t end) {
            for (size_t item = begin; item < end; ++item) {
                int64_t offset[3];
                rows.at(int64_t(item) / pieces, offset);
                const int64_t from = int64_t(item) % pieces * kPiece;
                const int64_t to = from + kPiece < blocks ? from + kPiece : blocks;
                for (int64_t block = from; block < to; ++block) {
                    const Bytes pair = load<Bytes>(packed + offset[1] + block * 16);
                    const Codes &by_code = codes[scales[offset[2] + block]];
                    const Bytes even = pair & 15, odd = pair >> 4;
                    T *to_store = out + offset[0] + block * 32;
                    store_sixteen(to_store, interleave_low(even, odd), by_code);
                    store_sixteen(to_store + 16, interleave_high(even, odd), by_code);
                }
            }
        });
    });
}

std::unique_ptr<Plan> plan_mxfp4_dequantize(const Operation &op) {
    return visit_single(op.tensor(0).dtype, [&]<class T>(Type<T>) { return plan_for<T>(op); });
}

INFINI_KERNEL("mxfp4_dequantize", plan_mxfp4_dequantize);

}  // namespace
}  // namespace infini::cpu
