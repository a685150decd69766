// Resampling: an output is made of the elements that the tables of its dimensions say. kMoves: it
// is one element, as it is.
#include "image.cuh"

using namespace infini;

INFINI_ENTRY(ResampleParams, 256, 1) {
    const int64_t outputs = p.to.batch * p.to.channels * p.to.elements();
    for (int64_t number = grid_thread(); number < outputs; number += grid_threads()) {
        const Pixel to(p.to, number);
        const T *plane = static_cast<const T *>(p.x) + to.plane(p.from);
        T *y = static_cast<T *>(p.y) + to.offset(p.to);
        // Of places beyond the edges, the outermost ones.
        auto clamped = [&](int d, int32_t at) {
            const int32_t last = int32_t(p.from.size[d]) - 1;
            return (at < 0 ? 0 : at < last ? at : last) * p.from.stride[d];
        };
        int32_t first[3];
#pragma unroll
        for (int d = 0; d < 3; ++d) first[d] = p.axes[d].first[to.at[d]];
        if constexpr (kMoves) {
            *y = plane[clamped(0, first[0]) + clamped(1, first[1]) + clamped(2, first[2])];
        } else {
            const W *weight[3];
            int32_t count[3];
#pragma unroll
            for (int d = 0; d < 3; ++d) {
                count[d] = p.axes[d].count[to.at[d]];
                weight[d] = static_cast<const W *>(p.axes[d].weight) + to.at[d] * p.axes[d].taps;
            }
            W sum = W(0);
            for (int32_t a = 0; a < count[0]; ++a)
                for (int32_t b = 0; b < count[1]; ++b) {
                    const T *row = plane + clamped(0, first[0] + a) + clamped(1, first[1] + b);
                    W part = W(0);
                    for (int32_t c = 0; c < count[2]; ++c)
                        part += weight[2][c] * convert<W>(row[clamped(2, first[2] + c)]);
                    sum += weight[0][a] * weight[1][b] * part;
                }
            *y = convert<T>(sum);
        }
    }
}
