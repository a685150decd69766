// For host and device.
#pragma once

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

// Rows with their columns in another order, as another type: for Marlin's products.
struct MarlinRowsParams {
    void *to;  // [rows, columns], dense
    const void *from;
    const int *order;  // null: as they are; a column that does not exist gives 0
    int64_t rows, from_row;
    int columns;
};

// Words in another packing. Codes are found at [k, n]: AWQ has words of codes along n, GPTQ along k.
struct MarlinRepackParams {
    uint32_t *to;
    const uint32_t *from;
    const int *order;  // GPTQ: the row that each comes from; null: itself
    int64_t runs;
    int k, n;
};

}  // namespace infini
