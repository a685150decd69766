// Of scatter and its relatives. An entry of the index and its update go to `row`, the number that
// the index has there, of a line of the output; places are numbered line by line. Strides in
// elements.
#pragma once

#include "places.h"

namespace infini {

struct ScatterParams {
    void *out;
    const void *index, *updates;
    uint32_t *keys;                  // place of each entry; `groups`: none
    int32_t *last;                   // the last entry of each place
    const uint32_t *sorted, *order;  // entries by their places
    Places<3> entries;               // in the index, the updates, and the first place of the line
    Places<1> lines;                 // in the output
    Divider rows_divider;
    int64_t rows, step;  // of a line of the output
    int64_t groups;      // places in all
};

}  // namespace infini
