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

}  // namespace infini
