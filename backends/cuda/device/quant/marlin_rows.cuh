// Copies rows with permuted columns, converted to another type: for Marlin's products.
#pragma once

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

struct MarlinRowsParams {
    void *to;  // [rows, columns], dense
    const void *from;
    const int *order;  // null: not permuted; columns out of range give 0
    int64_t rows, from_row;
    int columns;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// The host defines From and T.
INFINI_ENTRY(infini::MarlinRowsParams, 256, 1) {
    using namespace infini;
    for (int64_t i = grid_thread(); i < p.rows * p.columns; i += grid_threads()) {
        const int64_t row = i / p.columns;
        const int here = int(i % p.columns), column = p.order ? p.order[here] : here;
        const bool inside = column >= 0 && column < p.columns;
        static_cast<T *>(p.to)[i] =
            inside ? convert<T>(static_cast<const From *>(p.from)[row * p.from_row + column]) : T{};
    }
}

#endif  // INFINI_DEVICE
