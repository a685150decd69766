// Where the places of a scatter are in the output.
#pragma once

#include "scatter_params.h"

namespace infini {

// The offset of a place in the output.
INFINI_DEVICE int64_t offset_of(const ScatterParams &p, int64_t place) {
    int64_t line[1];
    const int64_t number = p.groups < (int64_t(1) << 31) ? p.rows_divider.divide(uint32_t(place))
                                                         : divide_apart(place, p.rows);
    p.lines.at(number, line);
    return line[0] + (place - number * p.rows) * p.step;
}

}  // namespace infini
