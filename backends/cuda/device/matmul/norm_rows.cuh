// RMS norm of rows, a block for each: to = from * weight / sqrt(mean(from^2) + epsilon). The host
// gives T, the type of the rows, and W, that of the weight.
#include "rows_params.h"

INFINI_ENTRY(infini::NormRowsParams, 256, 1) {
    using namespace infini;
    const int64_t row = blockIdx.x;
    const T *from = static_cast<const T *>(p.from) + row * p.from_row;
    const W *weight = static_cast<const W *>(p.weight);
    T *to = static_cast<T *>(p.to) + row * p.columns;
    float sum = 0;
    for (int64_t i = threadIdx.x; i < p.columns; i += 256) {
        const float x = convert<float>(from[i]);
        sum += x * x;
    }
    sum = fold_block<256>(sum, fold::Sum());
    const float scale = 1.0f / sqrtf(sum / float(p.columns) + p.epsilon);
    for (int64_t i = threadIdx.x; i < p.columns; i += 256)
        to[i] = convert<T>(convert<float>(from[i]) * convert<float>(weight[i]) * scale);
}
