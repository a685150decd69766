// Marlin's data layout. Codes are packed in runs of 1024: of 16 rows and 64 columns, or of 32 rows
// and 32 columns if the weights are for 8-bit activations. The runs of a band of rows are
// consecutive along the columns.
#pragma once

#include <cstdint>

namespace infini::cpu {

struct MarlinLayout {
    int bits;     // 4 or 8
    bool a_8bit;  // for 8-bit activations

    int64_t rows() const { return a_8bit ? 32 : 16; }
    int64_t columns() const { return a_8bit ? 32 : 64; }
    int64_t words() const { return 1024 * bits / 32; }  // per run

    struct Place {
        int word, index;  // the code is at bit index * bits of the word
    };
    // The place of the code at (row, column) of a run.
    Place place(int row, int column) const {
        int tile = column / 16, half = column / 8 % 2, lane = column % 8 * 4;
        if (a_8bit) {
            lane += row % 16 / 4;
            int word = (lane * 2 + tile) * 2 + half, upper = row / 16, low = row % 4;
            if (bits == 4) return {word, low * 2 + upper};
            return {word * 2 + upper, low};
        }
        lane += row % 8 / 2;
        int word = lane * 4 + tile, upper = row / 8, odd = row % 2;
        if (bits == 4) return {word, odd * 4 + half * 2 + upper};
        return {word * 2 + half, odd * 2 + upper};
    }
};

// The index of a column's scale within its group; the order differs if all rows are in one group.
inline int64_t marlin_scale(int64_t column, bool one_group) {
    int64_t in = column % 64;
    if (!one_group) return column - in + in % 8 * 8 + in / 8;
    in = column % 32;
    return column - in + in % 8 / 2 * 8 + in / 8 * 2 + in % 2;
}

// The place of a column's zero point among its group's words.
inline MarlinLayout::Place marlin_zero(int64_t column, int bits) {
    int64_t at = column / 64 * 64 + column % 8 * 8, i = column % 64 / 8;
    if (bits == 4) return {int(at / 8), int(i % 2 * 4 + i / 2)};
    return {int(at / 4 + i / 4), int(i % 2 * 2 + i % 4 / 2)};
}

}  // namespace infini::cpu
