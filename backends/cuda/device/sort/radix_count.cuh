// How many keys of a part of a line have each digit of each pass. The states that the first pass
// begins with are cleared on the way.
#include "radix.cuh"

using namespace infini;

INFINI_ENTRY(RadixParams, 512, 2) {
    constexpr int kThreads = 512, kV = kWide<T>;
    INFINI_SHARED uint32_t histogram[kPasses * kDigits];
    const int64_t line = blockIdx.x / p.parts, part = blockIdx.x - line * p.parts;
    const int64_t begin = part * p.part, left = p.size - begin;
    const int n = int(left < p.part ? left : p.part);
    const T *x = static_cast<const T *>(p.x) + p.from.offsets(line) + begin * p.from.step;
    for (int i = threadIdx.x; i < kPasses * kDigits; i += kThreads) histogram[i] = 0;
    __syncthreads();
    const auto count = [&](T value) {
        const Key key = order_key(value);
#pragma unroll
        for (int i = 0; i < kPasses; ++i) atomicAdd(&histogram[i * kDigits + digit_of(key, i)], 1u);
    };
    int done = 0;
    if (p.vector && n > 0) {
        done = n / kV * kV;
#pragma unroll 4
        for (int i = threadIdx.x * kV; i < done; i += kThreads * kV) {
            const Vec<T, kV> values = load<kV>(x + i);
#pragma unroll
            for (int k = 0; k < kV; ++k) count(values[k]);
        }
    }
#pragma unroll 1
    for (int i = done + threadIdx.x; i < n; i += kThreads) count(x[i * p.from.step]);
    const int64_t states = p.lines * p.tiles * kDigits;
    for (int64_t i = grid_thread() * 4; i < states; i += grid_threads() * 4)
        store(p.states[0] + i, Vec<uint32_t, 4>{});
    if (grid_thread() < kPasses) p.tickets[grid_thread()] = 0;
    __syncthreads();
    uint32_t *counts = p.counts + int64_t(blockIdx.x) * kPasses * kDigits;
    for (int i = threadIdx.x; i < kPasses * kDigits; i += kThreads) counts[i] = histogram[i];
}
