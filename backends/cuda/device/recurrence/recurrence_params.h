// Parameters of the recurrences' kernels; for host and device. Strides are in elements.
#pragma once

#include "divide.h"

namespace infini {

// The tokens of each request, and the locations of its old and new state. Lengths and indices are
// user data and not validated.
struct RequestParams {
    const void *bounds, *from, *to;
    int32_t count, tokens;  // requests; tokens per row of the batch
    int64_t pool;           // number of states
};

struct DeltaParams {
    RequestParams requests;
    void *out;
    const void *initial;
    void *final_state;  // the pool itself, if there is one
    const void *q, *k, *v, *g, *beta;
    const float *a_log, *dt_bias;
    int64_t out_stride[3], q_stride[3], k_stride[3], v_stride[3], g_stride[3], beta_stride[3];
    int64_t initial_stride[3], final_stride[3];
    int32_t heads, group;   // heads of values, and their number per head of keys
    int32_t rows, columns;  // of a state: sizes of values and keys
    int32_t parts;          // blocks per state, which divide its rows
    float scale, lower_bound;
    int32_t normalise, vector;  // vector: states and keys can be read 16 bytes at a time
};

struct ConvParams {
    RequestParams requests;
    void *out;
    const void *x, *weight, *bias;  // bias may be null
    const void *state;
    void *final_state;
    int64_t out_stride[2], x_stride[2], weight_stride[2], bias_stride;
    int64_t state_stride[3], final_stride[3];
    int32_t channels, blocks, runs;  // blocks of channels; most runs of tokens per request
    int32_t vector;
};

struct MambaParams {
    void *out;
    const void *x, *dt, *b, *c, *a_log, *d, *gate, *dt_bias;
    float *state;
    int32_t batch, tokens, channels, states, blocks;
};

struct RwkvParams {
    void *out;
    const void *r, *k, *v, *decay, *bonus;
    float *state;
    int32_t tokens, heads, size, parts;
};

struct CtcParams {
    void *loss;
    const void *log_probs;
    const int64_t *targets, *input_lengths, *target_lengths;
    void *rooms;  // if shared memory is too small
    int64_t log_probs_stride[3], target_stride[2], length_stride[2], loss_stride;
    int64_t steps, classes, targets_size, blank;
};

}  // namespace infini
