// The best of the pieces of each row.
#include "arg.cuh"

using namespace infini;

INFINI_ENTRY(ArgParams, 256, 1) {
    const int64_t row = grid_thread();
    if (row >= p.rows) return;
    const Part *parts = static_cast<const Part *>(p.parts) + row;
    Part best = parts[0];
    for (int piece = 1; piece < p.pieces; ++piece) {
        const Part other = parts[piece * p.rows];
        if (beats(other.value, best.value)) best = other;
    }
    p.y[p.to(row)] = best.place;
}
