// Our own convolution kernels.
#pragma once

#include "../matmul/product.h"
#include "device/conv/convolution.cuh"

namespace infini::cuda {

// Sizes of a convolution whose output was validated, as in ConvolutionParams.
struct ConvolutionShape {
    int dtype = 0;
    bool transposed = false, bias = false;
    int64_t images = 1, groups = 1, channels = 1, features = 1;  // channels and features per group
    int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, taps[3] = {1, 1, 1};
    int64_t pad[3] = {0, 0, 0}, step[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};

    int64_t in_size() const { return in[0] * in[1] * in[2]; }
    int64_t out_size() const { return out[0] * out[1] * out[2]; }
    int64_t tap_count() const { return taps[0] * taps[1] * taps[2]; }
};

// Pointers: y, x, w, bias. Uses the direct kernel if channels or features are few, otherwise a
// product.
std::unique_ptr<Plan> plan_convolution(const ConvolutionShape &shape, Device &device);
// One thread per output: needs no workspace and no alignment.
std::unique_ptr<Plan> plan_direct_convolution(const ConvolutionShape &shape, Device &device);
// For windows of a single channel in up to two dimensions, on tensors aligned to 16 bytes. Null if
// the case is not supported.
std::unique_ptr<Plan> plan_depthwise(const ConvolutionShape &shape, Device &device);
// With the library of matrix products: for 16-bit types, windows of one element, and biases. Null
// if the case is not supported.
std::unique_ptr<Plan> plan_pointwise(const ConvolutionShape &shape, Device &device);

}  // namespace infini::cuda
