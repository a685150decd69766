// The host gives From and T.
#include "marlin_rows_params.h"
#include "prelude.cuh"

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
