// dequantize_gguf.
#include "../threads.h"
#include "floats.h"
#include "gguf_blocks.h"
#include "quant/rows.h"

namespace infini::cpu {
namespace {

template <int format, class T>
std::unique_ptr<Plan> plan_for(const Operation &op) {
    const Tensor tensors[2] = {op.tensor(0), op.tensor(1)};
    const Rows<2> rows(tensors, tensors[0].ndim - 1);
    const int64_t units = tensors[0].size(-1) / 32;
    return make_plan([=](const Arguments &arguments) {
        if (units == 0) return;
        T *out = arguments.pointer<T>(0);
        const uint8_t *packed = arguments.pointer<const uint8_t>(1);
        constexpr int64_t kPiece = 64;  // units
        const int64_t pieces = (units + kPiece - 1) / kPiece;
        const size_t grain = size_t(512 / std::min(units, kPiece));
        parallel_for(size_t(rows.count * pieces), grain, [&](size_t begin, size_t end) {
            for (size_t item = begin; item < end; ++item) {
                int64_t offset[2];
                rows.at(int64_t(item) / pieces, offset);
                const int64_t from = int64_t(item) % pieces * kPiece;
                const int64_t to = std::min(from + kPiece, units);
                for (int64_t unit = from; unit < to; ++unit) {
                    float values[32];
                    constexpr int kUnits = Gguf<format>::kUnits;
                    const uint8_t *row = packed + offset[1];
                    gguf_values<format>(row + unit / kUnits * Gguf<format>::kBytes,
                                        int(unit % kUnits), values);
                    store_block(out + offset[0] + unit * 32, values, 32);
                }
            }
        });
    });
}

std::unique_ptr<Plan> plan_dequantize_gguf(const Operation &op) {
    return visit_gguf(op.integer(0), [&]<int format>(std::integral_constant<int, format>) {
        return visit_single(op.tensor(0).dtype,
                            [&]<class T>(Type<T>) { return plan_for<format, T>(op); });
    });
}

INFINI_KERNEL("dequantize_gguf", plan_dequantize_gguf);

}  // namespace
}  // namespace infini::cpu
