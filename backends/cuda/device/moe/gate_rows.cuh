// The activation between the two products of a feed-forward block.
#pragma once

#include "matmul/rows.cuh"

namespace infini {

// `kind`: see infiniopFusedMoeActivation_t: silu, silu(gate) * up, or a variant with soft limits.
INFINI_DEVICE float gate_value(int kind, float gate, float up) {
    const float sigmoid = 1.0f / (1.0f + expf(-gate));
    if (kind == 0) return gate * sigmoid;
    if (kind == 1) return gate * sigmoid * up;
    return 4.0f * tanhf(gate * 0.25f) * sigmoid * (25.0f * tanhf(up / 25.0f));
}

}  // namespace infini

// Applies the activation to the rows between the first and the second product of a feed-forward
// block. The host defines T and kVector: rows are multiples of 16 bytes.
INFINI_ENTRY(infini::GateRowsParams, 256, 1) {
    using namespace infini;
    constexpr int kRun = kVector ? kWide<T> : 1;
    const int64_t rows = p.count ? int64_t(*p.count) : p.rows;
    const int64_t runs = p.columns / kRun, wide = p.kind == 0 ? p.columns : 2 * p.columns;
    for (int64_t run = grid_thread(); run < rows * runs; run += grid_threads()) {
        const int64_t row = run / runs, column = run % runs * kRun;
        const T *from = static_cast<const T *>(p.from) + row * wide + column;
        const float scale = p.scales ? p.scales[p.order ? p.order[row] : row] : 1.0f;
        const Vec<T, kRun> gates = load<kRun>(from);
        const Vec<T, kRun> ups = load<kRun>(p.kind == 0 ? from : from + p.columns);
        Vec<T, kRun> values;
#pragma unroll
        for (int i = 0; i < kRun; ++i)
            values[i] = convert<T>(
                gate_value(p.kind, convert<float>(gates[i]), convert<float>(ups[i])) * scale);
        store(static_cast<T *>(p.to) + row * p.columns + column, values);
    }
}
