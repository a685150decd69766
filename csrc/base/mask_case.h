/* Operations on the elements that a mask selects, as planners see them. For back ends written in
 * C++. Header only. */
#ifndef INFINI_MASK_CASE_H
#define INFINI_MASK_CASE_H

#include "refuse.h"

namespace infini {

inline constexpr int64_t kMaskChunk = 4096;  // elements per entry of the counts

inline int64_t mask_chunks(const Tensor &mask) {
    int64_t count = 1;
    for (int d = 0; d < mask.ndim; ++d) count *= mask.shape[d];
    return (count + kMaskChunk - 1) / kMaskChunk;
}

inline void check_mask_counts(const Tensor &mask, const Tensor &counts) {
    if (counts.size(0) != mask_chunks(mask) + 1)
        refuse_shape("the counts have not one entry for each 4096 elements of the mask, and one");
}

}  // namespace infini
#endif
