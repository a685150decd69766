// Writes pointers that came with the launch.
#include "experts_params.h"
#include "prelude.cuh"

INFINI_ENTRY(infini::StorePointersParams, 256, 1) {
    for (int i = int(threadIdx.x); i < p.count; i += 256) p.to[i] = p.pointers[i];
}
