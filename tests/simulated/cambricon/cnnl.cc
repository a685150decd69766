// Simulated libcnnl.so: products, computed on the host.
#include "accelerator/products.h"
#include "cambricon/function.h"

using namespace simulated;
using namespace cambricon;

struct ProductDescriptor {
    bool strided = false;
};
struct Algorithm {};
struct Heuristic {
    bool chosen = false;
};

namespace {

Matrices matrices(const TensorDescriptor &t, const void *data) {
    const size_t n = t.size.size();
    return {const_cast<void *>(data),
            dtype_of(t.type),
            n == 3 ? t.size[0] : 1,
            t.size[n - 2],
            t.size[n - 1],
            n == 3 ? t.stride[0] : 0,
            t.stride[n - 2],
            t.stride[n - 1]};
}

}  // namespace

extern "C" {

cnnlStatus_t cnnlCreate(cnnlHandle_t *handle) { return make(__func__, handle); }

cnnlStatus_t cnnlSetQueue(cnnlHandle_t handle, cnrtQueue_t queue) {
    if (int code = begin(__func__)) return code;
    handle->queue = queue;
    return 0;
}

cnnlStatus_t cnnlCreateTensorDescriptor(cnnlTensorDescriptor_t *desc) {
    return make(__func__, desc);
}

cnnlStatus_t cnnlSetTensorDescriptorEx(cnnlTensorDescriptor_t desc, cnnlTensorLayout_t layout,
                                       cnnlDataType_t dtype, int count, const int *size,
                                       const int *stride) {
    if (int code = begin(__func__)) return code;
    if (layout != cnnl_layout_ARRAY || !dtype_of(dtype) || count < 1 || count > 8)
        return kBadParameter;
    *desc = {dtype, {size, size + count}, {stride, stride + count}};
    return 0;
}

cnnlStatus_t cnnlDestroyTensorDescriptor(cnnlTensorDescriptor_t desc) {
    return destroy(__func__, desc);
}

cnnlStatus_t cnnlCreateMatMulDescriptor(cnnlMatMulDescriptor_t *desc) {
    return make(__func__, desc);
}

cnnlStatus_t cnnlSetMatMulDescAttr(cnnlMatMulDescriptor_t desc, cnnlMatMulDescAttribute_t attribute,
                                   const void *value, size_t bytes) {
    if (int code = begin(__func__)) return code;
    if (bytes != sizeof(int32_t)) return kBadParameter;
    const bool on = *static_cast<const int32_t *>(value);
    if (attribute == cnnl_matmul_USE_STRIDE)
        desc->strided = on;
    else if (attribute != cnnl_matmul_ALLOW_TF32 || on)
        return kBadParameter;
    return 0;
}

cnnlStatus_t cnnlDestroyMatMulDescriptor(cnnlMatMulDescriptor_t desc) {
    return destroy(__func__, desc);
}

cnnlStatus_t cnnlCreateMatMulAlgo(cnnlMatMulAlgo_t *algo) { return make(__func__, algo); }

cnnlStatus_t cnnlDestroyMatMulAlgo(cnnlMatMulAlgo_t algo) { return destroy(__func__, algo); }

cnnlStatus_t cnnlCreateMatMulHeuristicResult(cnnlMatMulHeuristicResult_t *result) {
    return make(__func__, result);
}

cnnlStatus_t cnnlDestroyMatMulHeuristicResult(cnnlMatMulHeuristicResult_t result) {
    return destroy(__func__, result);
}

cnnlStatus_t cnnlGetBatchMatMulExAlgoHeuristic(cnnlHandle_t, cnnlMatMulDescriptor_t,
                                               cnnlTensorDescriptor_t, cnnlTensorDescriptor_t,
                                               cnnlTensorDescriptor_t, cnnlMatMulPrefer_t,
                                               int requested, cnnlMatMulHeuristicResult_t *result,
                                               int *count) {
    if (int code = begin(__func__)) return code;
    if (requested < 1) return kBadParameter;
    result[0]->chosen = true;
    *count = 1;
    return 0;
}

cnnlStatus_t cnnlGetBatchMatMulExHeuristicResult(cnnlMatMulHeuristicResult_t result,
                                                 cnnlMatMulAlgo_t, size_t *bytes) {
    if (int code = begin(__func__)) return code;
    *bytes = kWorkspace;
    return result->chosen ? 0 : kBadParameter;
}

cnnlStatus_t cnnlBatchMatMulEx(cnnlHandle_t handle, cnnlMatMulDescriptor_t desc, cnnlMatMulAlgo_t,
                               const void *alpha, cnnlTensorDescriptor_t a_desc, const void *a,
                               cnnlTensorDescriptor_t b_desc, const void *b, const void *beta,
                               cnnlTensorDescriptor_t c_desc, void *c, void *workspace,
                               size_t bytes) {
    if (int code = begin(__func__)) return code;
    const Matrices left = matrices(*a_desc, a), right = matrices(*b_desc, b),
                   out = matrices(*c_desc, c);
    if (!desc->strided || bytes < kWorkspace || !bytes_of(workspace, bytes, device()) ||
        left.rows != out.rows || right.columns != out.columns || left.columns != right.rows ||
        left.batch != out.batch || right.batch != out.batch)
        return kBadParameter;
    const double scale = *static_cast<const float *>(alpha);
    const double kept = *static_cast<const float *>(beta);
    return enqueue(handle->queue,
                   [=, number = device()] {
                       return multiply(out, left, right, scale, kept, kept != 0, number, kFailed);
                   })
               ? 0
               : kFailed;
}

}  // extern "C"
