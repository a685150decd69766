// The sum of the expert outputs of each token.
#include <algorithm>

#include "convert.h"
#include "kernel.h"
#include "simd.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kBlock = 256;

// Computes entries [d, d + n) of a token's sum, n <= kBlock.
void sum_block(const Shape &y, const Shape &x, char *out, const char *in, int64_t token, int64_t d,
               int64_t n, int64_t bytes) {
    float sum[kBlock] = {}, row[kBlock];
    for (int64_t k = 0; k < x.size[1]; ++k) {
        int64_t start = token * x.stride[0] + k * x.stride[1] + d * x.stride[2];
        if (x.stride[2] == 1) {
            to_f32(row, in + start * bytes, x.dtype, size_t(n));
        } else {
            for (int64_t i = 0; i < n; ++i)
                row[i] = load_as<float>(x.dtype, in, start + i * x.stride[2]);
        }
        for (int64_t i = 0; i < n; ++i) sum[i] += row[i];
    }
    int64_t start = token * y.stride[0] + d * y.stride[1];
    if (y.stride[1] == 1) {
        from_f32(out + start * bytes, y.dtype, sum, size_t(n));
    } else {
        for (int64_t i = 0; i < n; ++i)
            store_as<float>(y.dtype, out, start + i * y.stride[1], sum[i]);
    }
}

std::unique_ptr<Plan> plan_moe_sum(const Operation &op) {
    Shape y(op.tensor(0)), x(op.tensor(1));
    int64_t bytes = y.dtype == INFINI_DTYPE_F32 ? 4 : 2;
    int64_t blocks = (y.size[1] + kBlock - 1) / kBlock;
    size_t grain = size_t(std::max<int64_t>(1, 64 / std::max<int64_t>(x.size[1], 1)));
    return make_plan([=](const Arguments &a) {
        char *out = a.pointer<char>(0);
        const char *in = a.pointer<const char>(1);
        parallel_for(size_t(y.size[0] * blocks), grain, [&](size_t first, size_t last) {
            for (int64_t i = int64_t(first); i < int64_t(last); ++i) {
                int64_t d = i % blocks * kBlock;
                sum_block(y, x, out, in, i / blocks, d, std::min(kBlock, y.size[1] - d), bytes);
            }
        });
    });
}

INFINI_KERNEL("moe_sum", plan_moe_sum);

}  // namespace
}  // namespace infini::cpu
