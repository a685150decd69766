// Rows of block_diag: elements E of a matrix, zeros before and behind it.
#include "block_diag_params.h"

using namespace infini;

INFINI_ENTRY(BlockDiagParams, 256, 1) {
    const int64_t column = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (column >= p.columns) return;
    const int64_t inside = column - p.first;
    const bool given = inside >= 0 && inside < p.width;
    for (int64_t row = blockIdx.y; row < p.rows; row += p.row_blocks) {
        const E value =
            given ? static_cast<const E *>(p.from)[row * p.from_row + inside * p.from_step] : E{};
        static_cast<E *>(p.to)[row * p.to_row + column * p.to_step] = value;
    }
}
