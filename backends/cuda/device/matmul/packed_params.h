// Parameters of products with packed weights. For host and device.
#pragma once

#include "divide.h"
#include "product_params.h"

namespace infini {

struct PackedParams {
    MatmulParams product;   // b: the codes
    const void *scales;     // MXFP4: a byte per 32 elements. Marlin: [groups, n], in a's type
    const uint32_t *zeros;  // Marlin: [groups, n] codes; null: none
    const int *row_group;   // Marlin: the group of each k; null: groups of equal length
    int groups, group_size;
    float offset;  // Marlin: one zero point for all
};

// Marlin's layout. Codes are packed in runs of 1024: 16 rows (k) and 64 columns, or 32 rows and 32
// columns if the weights are for 8-bit activations. The runs of a band of rows are stored one after
// the other along the columns.
struct MarlinPlace {
    int word, shift;  // word in the run; shift in bits
};

template <int bits, bool a_8bit>
struct MarlinLayout {
    static constexpr int kRows = a_8bit ? 32 : 16, kColumns = a_8bit ? 32 : 64;
    static constexpr int kWords = 1024 * bits / 32;  // words per run
    // Distance between the codes of an even row and the next one, in bits of the same word.
    static constexpr int kNext = a_8bit ? 8 : 16;

    INFINI_BOTH static MarlinPlace place(int row, int column) {
        const int tile = column / 16, half = column / 8 % 2, lane = column % 8 * 4;
        if (a_8bit) {
            const int upper = row / 16, low = row % 4;
            const int word = ((lane + row % 16 / 4) * 2 + tile) * 2 + half;
            return bits == 4 ? MarlinPlace{word, (low * 2 + upper) * 4}
                             : MarlinPlace{word * 2 + upper, low * 8};
        }
        const int upper = row / 8, odd = row % 2, word = (lane + row % 8 / 2) * 4 + tile;
        return bits == 4 ? MarlinPlace{word, (odd * 4 + half * 2 + upper) * 4}
                         : MarlinPlace{word * 2 + half, (odd * 2 + upper) * 8};
    }
};

// The position of a column's scale among those of its group; a single group of all rows has a
// different order.
INFINI_BOTH int marlin_scale(int column, bool one_group) {
    int in = column % 64;
    if (!one_group) return column - in + in % 8 * 8 + in / 8;
    in = column % 32;
    return column - in + in % 8 / 2 * 8 + in / 8 * 2 + in % 2;
}

// The position of a column's zero point among the words of its group.
template <int bits>
INFINI_BOTH MarlinPlace marlin_zero(int column) {
    const int at = column / 64 * 64 + column % 8 * 8, i = column % 64 / 8;
    return bits == 4 ? MarlinPlace{at / 8, (i % 2 * 4 + i / 2) * 4}
                     : MarlinPlace{at / 4 + i / 4, (i % 2 * 2 + i % 4 / 2) * 8};
}

}  // namespace infini
