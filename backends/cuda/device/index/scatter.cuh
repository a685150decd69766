// Where the entries of a scatter go.
#pragma once

#include "scatter_place.cuh"

namespace infini {

struct Entry {
    int64_t update;  // offset
    int64_t place;   // -1: the index names none
};

INFINI_DEVICE Entry entry_at(const ScatterParams &p, int64_t i) {
    int64_t offset[3];
    p.entries.at(i, offset);
    const int64_t row = static_cast<const I *>(p.index)[offset[0]];
    return {offset[1], uint64_t(row) < uint64_t(p.rows) ? offset[2] + row : -1};
}

}  // namespace infini
