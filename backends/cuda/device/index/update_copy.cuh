// Rows of the output: of the source where an entry names the row, else of the input. Words W of
// elements E.
#include "update_spot.cuh"
#include "words.cuh"

using namespace infini;

INFINI_ENTRY(UpdateParams, 256, 1) {
    const Spot spot = spot_of(p);
    const int64_t column = spot.column;
    if (column >= p.inner) return;
    const int64_t rows = p.outer * p.rows;
    for (int64_t at = spot.row; at < rows; at += spot.rows) {
        const int64_t outer = at / p.rows, entry = p.last[at - outer * p.rows];
        const int64_t to = at * p.inner + column;
        const int64_t from = (outer * p.entries + entry) * p.inner + column;
        const char *word = entry < 0
                               ? static_cast<const char *>(p.in) + to * int64_t(sizeof(W))
                               : static_cast<const char *>(p.source) + from * int64_t(sizeof(W));
        store_word<E>(static_cast<char *>(p.out) + to * int64_t(sizeof(W)),
                      load_word<W, E>(word, p.whole), p.whole);
    }
}
