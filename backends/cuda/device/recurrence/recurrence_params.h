// Parameters of the recurrences' kernels; for host and device. Strides are in elements.
#pragma once

#include "divide.h"

namespace infini {

// Which tokens belong to each request, and where its state is read and written. Lengths and indices
// are the client's data.
struct RequestParams {
    const void *bounds, *from, *to;
    int32_t count, tokens;  // requests; tokens of a row of the batch
    int64_t pool;           // states
};

struct DeltaParams {
    RequestParams requests;
    void *out;
    const void *initial;
    void *final_state;  // the pool itself where there is one
    const void *q, *k, *v, *g, *beta;
    const float *a_log, *dt_bias;
    int64_t out_stride[3], q_stride[3], k_stride[3], v_stride[3], g_stride[3], beta_stride[3];
    int64_t initial_stride[3], final_stride[3];
    int32_t heads, group;   // heads of values, and those for each head of keys
    int32_t rows, columns;  // of a state: sizes of values and of keys
    int32_t parts;          // blocks for the rows of a state
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
    int32_t channels, blocks, runs;  // blocks of channels; runs of tokens, of a request at most
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

}  // namespace infini
