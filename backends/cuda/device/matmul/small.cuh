// Products whose whole k fits into shared memory, with a single wait for the operands and a single
// pass. The host defines A, B and O, the types of the operands and of c; C, the type of sums;
// kAlongA, kAlongB (k is contiguous); and kDepth, a multiple of 16 that is at least k.
#include "finish.cuh"

namespace infini {

constexpr int kSide = 16, kThreads = kSide * kSide;
constexpr int kLine = kDepth + 4;  // neighbouring lines begin in different banks

struct alignas(16) Four {
    C values[4];
};
struct alignas(16) Operands {
    C a[kSide][kLine], b[kSide][kLine];
};

// The lines of an operand that a block needs, padded with zeros.
template <class T, bool along>
INFINI_DEVICE void bring(const MatmulOperand &from, int64_t batch, int first, int lines, int k,
                         C (*to)[kLine]) {
    const T *data = static_cast<const T *>(from.data) + batch * from.batch;
    T values[kDepth / kSide];
#pragma unroll
    for (int i = 0; i < kDepth / kSide; ++i) {
        const int at = i * kThreads + int(threadIdx.x);
        const int line = first + (along ? at / kDepth : at % kSide);
        const int depth = along ? at % kDepth : at / kSide;
        values[i] = line < lines && depth < k ? data[line * from.line + depth * from.along]
                                              : convert<T>(C(0));
    }
#pragma unroll
    for (int i = 0; i < kDepth / kSide; ++i) {
        const int at = i * kThreads + int(threadIdx.x);
        to[along ? at / kDepth : at % kSide][along ? at % kDepth : at / kSide] =
            convert<C>(values[i]);
    }
}

}  // namespace infini

INFINI_ENTRY(infini::ProductParams, infini::kThreads, 1) {
    using namespace infini;
    INFINI_SHARED Operands shared;
    const MatmulParams &q = p.product;
    const TilePlace place(q);
    const int row = place.row * kSide, column = place.column * kSide;
    bring<A, kAlongA>(q.a, place.batch, row, q.m, q.k, shared.a);
    bring<B, kAlongB>(q.b, place.batch, column, q.n, q.k, shared.b);
    __syncthreads();
    const int i = int(threadIdx.x) / kSide, j = int(threadIdx.x) % kSide;
    C sums[4] = {};
#pragma unroll 8
    for (int d = 0; d < kDepth; d += 4) {
        const Four x = *reinterpret_cast<const Four *>(&shared.a[i][d]);
        const Four y = *reinterpret_cast<const Four *>(&shared.b[j][d]);
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[e] += x.values[e] * y.values[e];
    }
    const C sum[1] = {(sums[0] + sums[1]) + (sums[2] + sums[3])};
    if (row + i < q.m && column + j < q.n)
        Epilogue<O, C>(p, place.batch)(row + i, column + j, sum, 1);
}
