// The engine of gather programs: a thread for each output. The host brings `element`, which
// computes one from its coordinates, and kDims dimensions of the walk with kCoordinate of each (-1:
// carried).
#include "gather_params.h"

using namespace infini;

INFINI_ENTRY(GatherParams, 256, 1) {
    for (int64_t number = grid_thread(); number < p.count; number += grid_threads()) {
        int64_t out = 0, from[Gather::kInputs] = {}, at[GatherParams::kMost];
        I rest = I(number);
#pragma unroll
        for (int d = 0; d < kDims; ++d) {
            const GatherDim &dim = p.dims[d];
            const I next = d + 1 == kDims   ? I(0)
                           : sizeof(I) == 4 ? I(dim.by.divide(uint32_t(rest)))
                                            : rest / I(dim.size);
            const int64_t here = rest - next * I(dim.size);
            rest = next;
            out += here * dim.out;
#pragma unroll
            for (int i = 0; i < Gather::kInputs; ++i) from[i] += here * dim.in[i];
            if (kCoordinate[d] >= 0) at[kCoordinate[d]] = here;
        }
        static_cast<T *>(p.y)[out] = convert<T>(gathered::element(p.gather, p.x, from, at));
    }
}
