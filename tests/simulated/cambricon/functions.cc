// Simulated libcnnl.so: functions for language models, computed on the host.
#include <cmath>

#include "cambricon/function.h"

using namespace simulated;
using namespace cambricon;

extern "C" {

cnnlStatus_t cnnlSoftmaxForward_v2(cnnlHandle_t handle, cnnlSoftmaxAlgorithm_t algorithm,
                                   cnnlSoftmaxMode_t mode, cnnlComputationPreference_t prefer,
                                   const void *alpha, const Tensor x_desc, const void *x,
                                   const void *beta, const Tensor y_desc, void *y) {
    if (int code = begin(__func__)) return code;
    const bool logarithm = algorithm == CNNL_SOFTMAX_LOG;
    if (!same(x_desc, y_desc) || x_desc->size.size() != 3 || !is_dense(x_desc) ||
        !is_dense(y_desc) || alpha || beta || mode != CNNL_SOFTMAX_MODE_MEDIUM_DIMENSION ||
        prefer != CNNL_COMPUTATION_HIGH_PRECISION ||
        (!logarithm && algorithm != CNNL_SOFTMAX_ACCURATE))
        return kBadParameter;
    return start(handle, [=, a = strided(*x_desc, x), b = strided(*y_desc, y)](int on) {
        return softmax(a, 1, logarithm, b, on);
    });
}

cnnlStatus_t cnnlMaskedSoftmax(cnnlHandle_t handle, cnnlMaskedSoftmaxOp_t mode, int axis,
                               float scale, const Tensor x_desc, const void *x,
                               const Tensor mask_desc, const void *mask, const Tensor y_desc,
                               void *y) {
    if (int code = begin(__func__)) return code;
    if (!same(x_desc, y_desc) || mode != CNNL_MASKED_SOFTMAX_MASKED_FILL_NEG_INF || axis != -1 ||
        scale != 1 || !mask_desc || mask_desc->type != cnnl_dtype_BOOL ||
        x_desc->size.size() != 4 || mask_desc->size.size() != 4)
        return kBadParameter;
    return start(handle, [=, a = strided(*x_desc, x), b = strided(*y_desc, y),
                          m = strided(*mask_desc, mask)](int on) {
        Numbers all = read(a, on);
        const Numbers hidden = read(m, on);
        const size_t n = size_t(a.last());
        if (hidden.empty()) return false;
        for (size_t row = 0; row < all.size(); row += n) {
            double most = -INFINITY, sum = 0;
            for (size_t i = row; i < row + n; ++i) {
                if (hidden[size_t(broadcast(a, m, int64_t(i)))] != 0) all[i] = -INFINITY;
                most = all[i] > most || all[i] != all[i] ? all[i] : most;
            }
            for (size_t i = row; i < row + n; ++i) sum += all[i] = std::exp(all[i] - most);
            for (size_t i = row; i < row + n; ++i) all[i] /= sum;
        }
        return write(b, all, on);
    });
}

cnnlStatus_t cnnlGetLayerNormOpWorkspaceSize(cnnlHandle_t, int axis, const Tensor x_desc,
                                             size_t *size) {
    if (int code = begin(__func__)) return code;
    *size = kWorkspace;
    return axis == int(x_desc->size.size()) - 1 ? 0 : kBadParameter;
}

cnnlStatus_t cnnlLayerNormForward(cnnlHandle_t handle, const Tensor x_desc, const void *x, int axis,
                                  const Tensor weight_desc, const void *weight, const void *bias,
                                  float eps, void *workspace, size_t workspace_size,
                                  const Tensor y_desc, void *y, const Tensor mean_desc, void *mean,
                                  void *rstd) {
    if (int code = begin(__func__)) return code;
    if (!same(x_desc, y_desc) || axis != int(x_desc->size.size()) - 1 || !weight_desc ||
        !mean_desc || !mean || !rstd || workspace_size < kWorkspace ||
        !bytes_of(workspace, workspace_size, device()) || !is_dense(x_desc))
        return kBadParameter;
    return start(handle,
                 [=, a = strided(*x_desc, x), b = strided(*y_desc, y),
                  w = strided(*weight_desc, weight), c = strided(*weight_desc, bias)](int on) {
                     return layer_norm(a, &w, bias ? &c : nullptr, eps, b, on);
                 });
}

cnnlStatus_t cnnlEmbeddingForward_v2(cnnlHandle_t handle, const Tensor weight_desc,
                                     const void *weight, const Tensor indices_desc,
                                     const void *indices, int padding, const float *max_norm,
                                     const float *norm_type, const Tensor output_desc,
                                     void *output) {
    if (int code = begin(__func__)) return code;
    if (weight_desc->type != output_desc->type || weight_desc->size.size() != 2 || padding != -1 ||
        max_norm || norm_type)
        return kBadParameter;
    return start(handle,
                 [t = strided(*weight_desc, weight), i = strided(*indices_desc, indices),
                  o = strided(*output_desc, output)](int on) { return lookup(t, i, o, on); });
}

cnnlStatus_t cnnlGetTopKTensorWorkspaceSize(cnnlHandle_t, const Tensor, int, int, bool,
                                            const Tensor, const Tensor, size_t *size) {
    if (int code = begin(__func__)) return code;
    *size = kWorkspace;
    return 0;
}

cnnlStatus_t cnnlTopKTensor_v3(cnnlHandle_t handle, const Tensor input_desc, const void *input,
                               int k, int dim, bool largest, bool, bool lower_index_first,
                               void *workspace, size_t workspace_size, const Tensor output_desc,
                               void *output, const Tensor index_desc, void *index) {
    if (int code = begin(__func__)) return code;
    if (input_desc->type != output_desc->type || !lower_index_first || dim < 0 ||
        dim >= int(input_desc->size.size()) || workspace_size < kWorkspace ||
        !bytes_of(workspace, workspace_size, device()))
        return kBadParameter;
    return start(handle, [=, a = strided(*input_desc, input), v = strided(*output_desc, output),
                          p = strided(*index_desc, index)](int on) {
        return order(a, dim, largest, k, v, p, on);
    });
}

cnnlStatus_t cnnlCastDataType(cnnlHandle_t handle, const Tensor input_desc, const void *input,
                              cnnlCastDataType_t how, const Tensor output_desc, void *output) {
    if (int code = begin(__func__)) return code;
    const bool narrows = how == CNNL_CAST_FLOAT_TO_HALF || how == CNNL_CAST_FLOAT_TO_BFLOAT16;
    const bool half = how == CNNL_CAST_FLOAT_TO_HALF || how == CNNL_CAST_HALF_TO_FLOAT;
    const int narrow = half ? cnnl_dtype_HALF : cnnl_dtype_BFLOAT16;
    if (input_desc->size != output_desc->size || !is_dense(input_desc) || !is_dense(output_desc) ||
        input_desc->type != (narrows ? cnnl_dtype_FLOAT : narrow) ||
        output_desc->type != (narrows ? narrow : cnnl_dtype_FLOAT))
        return kBadParameter;
    return start(handle, [a = strided(*input_desc, input), b = strided(*output_desc, output)](
                             int on) { return write(b, read(a, on), on); });
}

cnnlStatus_t cnnlCopy(cnnlHandle_t handle, const Tensor input_desc, const void *input,
                      const Tensor output_desc, void *output) {
    if (int code = begin(__func__)) return code;
    if (!same(input_desc, output_desc)) return kBadParameter;
    return start(handle, [a = strided(*input_desc, input), b = strided(*output_desc, output)](
                             int on) { return copy_elements(a, b, on); });
}

cnnlStatus_t cnnlExpand(cnnlHandle_t handle, const Tensor input_desc, const void *input,
                        const Tensor output_desc, void *output) {
    if (int code = begin(__func__)) return code;
    if (input_desc->type != output_desc->type) return kBadParameter;
    return start(handle, [a = strided(*input_desc, input), b = strided(*output_desc, output)](
                             int on) { return copy_elements(a, b, on); });
}

}  // extern "C"
