// Tokens through their experts: pairs of tokens and choices are sorted by expert on the device;
// their rows are multiplied tile by tile, activated, multiplied again, and summed for each token.
// The host never reads which token goes to which expert.
#pragma once

#include "../matmul/product_parts.h"
#include "../matmul/rows.h"
#include "device/moe/experts.cuh"

namespace infini::cuda {

struct ExpertsShape {
    int dtype = 0;
    int64_t tokens = 0, choices = 0, experts = 0;
    int64_t hidden = 0, wide = 0, inner = 0;  // columns of tokens, after layer 1, after the gate
    int kind = 1;                             // infiniopFusedMoeActivation_t
    bool scale_inside = false;  // the choice's scale goes into the gate's result, not into the sum
    bool mxfp4 = false;
    bool separate = false;  // gates, ups and downs are matrices of their own, named by pointers
    int64_t positions = 0, labels = 0;  // of the blocks of moe_align, where experts are found there

    int64_t pairs() const { return tokens * choices; }
};

struct ExpertsData {
    void *out;
    const void *in;
    const int *ids;       // [tokens, choices]
    const float *scales;  // [tokens, choices]
    const void *w1 = nullptr, *w2 = nullptr;
    const uint8_t *scales1 = nullptr, *scales2 = nullptr;  // of MXFP4
    const void *bias1 = nullptr, *bias2 = nullptr;         // [experts, wide], [experts, hidden]
    const int *sorted = nullptr, *labels = nullptr, *used = nullptr;  // what moe_align gave
    // On the device: gates, ups, downs. Or null and `host_pointers`, all of them one after the
    // other.
    const void *const *gates = nullptr, *const *ups = nullptr, *const *downs = nullptr;
    const void *const *host_pointers = nullptr;
};

std::unique_ptr<Plan> plan_experts(const ExpertsShape &shape, Device &device,
                                   ExpertsData (*data)(const Arguments &, const ExpertsShape &));

}  // namespace infini::cuda
