// The threads of a block as rows and columns.
#pragma once

#include "update_params.h"

namespace infini {

struct Spot {
    int64_t column, row, rows;  // rows: that the grid does at a time
};

INFINI_DEVICE Spot spot_of(const UpdateParams &p) {
    const int across = 1 << p.across_bits, down = 256 >> p.across_bits;
    return {int64_t(blockIdx.x) * across + (int(threadIdx.x) & (across - 1)),
            int64_t(blockIdx.y) * down + (int(threadIdx.x) >> p.across_bits),
            int64_t(gridDim.y) * down};
}

}  // namespace infini
