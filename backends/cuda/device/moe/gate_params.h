// Of the gates of mixtures of experts. Strides in elements.
#pragma once

#include "divide.h"

namespace infini {

enum Gate { kTopkSoftmax, kTopkRouter, kMoeSoftmax, kMoeSigmoid, kFusedGate };

struct GateParams {
    float *values;
    int32_t *indices;
    const void *x;
    const float *bias;
    float *room;  // where shared memory does not suffice: for each warp of the grid
    int64_t rows, x_row, x_step, bias_step;
    int64_t value_row, value_step, index_row, index_step;
    int32_t experts, chosen;  // of each row
    int32_t slots;            // entries of a row of results: more than are chosen have no expert
    int32_t groups, keep;
    int32_t shared;  // entries behind the chosen ones, for experts that all share
    int32_t normalise, scaled;
    float cap, factor;
};

}  // namespace infini
