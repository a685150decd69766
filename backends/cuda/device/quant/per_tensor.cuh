// One scale for a tensor. kStep 0: the greatest elements, one for each block; 1: the scale from
// them (one block); 2: the codes; 3: numbers T from codes.
#include "int8.cuh"

namespace infini {

constexpr int kThreads = 256;

}  // namespace infini

using namespace infini;

INFINI_ENTRY(TensorParams, kThreads, 1) {
    constexpr int n = kVector;
    const float old = kStep > 0 ? *p.scale : 0.0f;
    if (kStep == 1) {
        float most = 0;
        for (int i = int(threadIdx.x); i < p.part_count; i += kThreads)
            most = fold::Max()(most, p.parts[i]);
        most = fold_block<kThreads>(most, fold::Max());
        if (threadIdx.x == 0) *p.scale = fold::Max()(old, most / 127.0f);
        return;
    }
    float most = 0;
#pragma unroll 1
    for (int64_t i = grid_thread(); i < p.vectors.count; i += grid_threads()) {
        int64_t offset[2];
        p.vectors.at(i, offset);
        float v[n];
        if (kStep == 3)
            widen(load_some<n>(static_cast<const int8_t *>(p.x) + offset[1], p.whole_x), v);
        else
            widen(load_some<n>(static_cast<const T *>(p.x) + offset[1], p.whole_x), v);
        if (kStep == 0) {
#pragma unroll
            for (int k = 0; k < n; ++k) most = fold::Max()(most, size_of(v[k]));
        } else if (kStep == 2) {
            Vec<int8_t, n> codes;
#pragma unroll
            for (int k = 0; k < n; ++k)
                codes[k] = old == 0.0f ? int8_t(0) : code_of(v[k], old, 0.0f, -127.0f);
            store_some<n>(static_cast<int8_t *>(p.out) + offset[0], codes, p.whole_out);
        } else {
#pragma unroll
            for (int k = 0; k < n; ++k) v[k] *= old;
            store_some<n>(static_cast<T *>(p.out) + offset[0], narrow<T>(v), p.whole_out);
        }
    }
    if (kStep == 0) {
        most = fold_block<kThreads>(most, fold::Max());
        if (threadIdx.x == 0) p.parts[blockIdx.x] = most;
    }
}
