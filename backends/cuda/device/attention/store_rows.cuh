// Rows of new keys and values into their caches: [heads, rows, pieces] each.
//
// Before this: type T, of a piece of an element or of 16 bytes.
#include "attention_params.h"

namespace infini {

INFINI_ENTRY(StoreRowsParams, 256, 1) {
    for (int64_t i = grid_thread(); i < p.count; i += grid_threads()) {
        const Quotient piece = p.pieces.split(uint32_t(i));
        const Quotient row = p.rows.split(piece.quotient);
        const Quotient head = p.heads.split(row.quotient);
        const uint32_t which = head.quotient;
        // Of keys or of values; chosen without an index, so that the parameters stay where they
        // are.
        const T *from = static_cast<const T *>(which ? p.from[1] : p.from[0]);
        T *to = static_cast<T *>(which ? p.to[1] : p.to[0]);
        from += head.remainder * (which ? p.from_head[1] : p.from_head[0]) +
                row.remainder * (which ? p.from_row[1] : p.from_row[0]);
        to += head.remainder * (which ? p.to_head[1] : p.to_head[0]) +
              row.remainder * (which ? p.to_row[1] : p.to_row[0]);
        to[piece.remainder] = from[piece.remainder];
    }
}

}  // namespace infini
