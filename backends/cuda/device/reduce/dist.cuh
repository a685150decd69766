// dist: every block adds up some of the differences, and the last kernel (kJoin) what the blocks
// have. As many blocks each time, so that the sum is the same.
#include "norms.cuh"

using namespace infini;

INFINI_ENTRY(DistParams, 256, 1) {
    using C = Choose<kSame<T, double>, double, float>;
    double total = 0;
    if constexpr (kJoin) {
        for (int i = threadIdx.x; i < p.blocks; i += 256) total = Join()(total, p.parts[i]);
    } else {
        const T *x1 = static_cast<const T *>(p.x1), *x2 = static_cast<const T *>(p.x2);
        for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
            const C d = convert<C>(x1[p.first(i)]) - convert<C>(x2[p.second(i)]);
            total = accumulate(total, d, C(p.p));
        }
    }
    total = fold_block<256>(total, Join());
    if (threadIdx.x != 0) return;
    if constexpr (kJoin)
        *static_cast<T *>(p.y) = convert<T>(finish(total, p.p));
    else
        p.parts[blockIdx.x] = total;
}
