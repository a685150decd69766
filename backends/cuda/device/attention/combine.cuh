// Puts the results of ranges of keys together: a block for each row.
//
// Before this: type T.
#include "combine_row.cuh"

namespace infini {

INFINI_ENTRY(CombineSplitsParams, kCombineThreads, 1) {
    const int64_t unit = blockIdx.x;
    const int partial = (p.value_depth + 3) / 4 * 4 + 4;
    const float *from = p.partials + unit * partial;
    const int64_t next = p.units * partial;
    const Quotient row = p.rows.split(uint32_t(unit)), head = p.heads.split(row.quotient);
    const Quotient query = p.group.split(row.remainder);
    T *to = static_cast<T *>(p.out) + head.quotient * p.out_stride.batch +
            query.quotient * p.out_stride.token +
            (int64_t(head.remainder) * p.group.divisor + query.remainder) * p.out_stride.head;
    combine_row(
        p.splits, p.value_depth, [&](int i) { return from + i * next; }, to, p.out_stride.inner);
}

}  // namespace infini
