// Simulated libcnnl.so: norms, activations and sums of products, computed on the host.
#include <cmath>

#include "cambricon/function.h"

using namespace simulated;
using namespace cambricon;

struct ActivationDescriptor {
    int mode = 0;
};
struct OpTensorDescriptor {
    int mode = 0;
};

namespace {

double activate(double x, int mode) {
    switch (mode) {
        case CNNL_ACTIVATION_SIGMOID:
            return 1 / (1 + std::exp(-x));
        case CNNL_ACTIVATION_RELU:
            return x < 0 ? 0 : x;
        case CNNL_ACTIVATION_TANH:
            return std::tanh(x);
        default:
            return x / (1 + std::exp(-x));
    }
}

}  // namespace

extern "C" {

cnnlStatus_t cnnlGetRmsNormOpWorkspaceSize(cnnlHandle_t, int axis, const Tensor x_desc,
                                           size_t *size) {
    if (int code = begin(__func__)) return code;
    *size = kWorkspace;
    return axis == int(x_desc->size.size()) - 1 ? 0 : kBadParameter;
}

cnnlStatus_t cnnlRmsNormForward(cnnlHandle_t handle, int axis, const Tensor x_desc, const void *x,
                                const Tensor weight_desc, const void *weight, const void *bias,
                                float eps, void *workspace, size_t workspace_size,
                                const Tensor y_desc, void *y, const Tensor rms_desc, void *rms) {
    if (int code = begin(__func__)) return code;
    if (!same(x_desc, y_desc) || axis != int(x_desc->size.size()) - 1 || !weight_desc || bias ||
        weight_desc->type != x_desc->type || !rms_desc || !rms || !is_dense(x_desc) ||
        !is_workspace(workspace, workspace_size))
        return kBadParameter;
    return start(
        handle, [=, a = strided(*x_desc, x), b = strided(*y_desc, y),
                 w = strided(*weight_desc, weight)](int on) { return rms_norm(a, w, eps, b, on); });
}

cnnlStatus_t cnnlCreateActivationDescriptor(cnnlActivationDescriptor_t *desc) {
    return make(__func__, desc);
}

cnnlStatus_t cnnlSetActivationDescriptor_v5(cnnlActivationDescriptor_t desc,
                                            cnnlActivationMode_t mode,
                                            cnnlActivationPreference_t prefer,
                                            cnnlNanPropagation_t nan, float, int, float, float,
                                            bool) {
    if (int code = begin(__func__)) return code;
    desc->mode = mode;
    const bool known = mode == CNNL_ACTIVATION_SIGMOID || mode == CNNL_ACTIVATION_RELU ||
                       mode == CNNL_ACTIVATION_TANH || mode == CNNL_ACTIVATION_SILU;
    return known && prefer == CNNL_ACTIVATION_HIGH_PRECISION && nan == CNNL_PROPAGATE_NAN
               ? 0
               : kBadParameter;
}

cnnlStatus_t cnnlDestroyActivationDescriptor(cnnlActivationDescriptor_t desc) {
    return destroy(__func__, desc);
}

cnnlStatus_t cnnlActivationForward(cnnlHandle_t handle, cnnlActivationDescriptor_t desc,
                                   const void *alpha, const Tensor x_desc, const void *x,
                                   const void *beta, const Tensor y_desc, void *y) {
    if (int code = begin(__func__)) return code;
    if (alpha || beta || !same(x_desc, y_desc) || !desc->mode) return kBadParameter;
    return start(handle,
                 [mode = desc->mode, a = strided(*x_desc, x), b = strided(*y_desc, y)](int on) {
                     Numbers all = read(a, on);
                     for (double &number : all) number = activate(number, mode);
                     return write(b, all, on);
                 });
}

cnnlStatus_t cnnlCreateOpTensorDescriptor(cnnlOpTensorDescriptor_t *desc) {
    return make(__func__, desc);
}

cnnlStatus_t cnnlSetOpTensorDescriptor(cnnlOpTensorDescriptor_t desc, cnnlOpTensorDesc_t mode,
                                       cnnlDataType_t type, cnnlNanPropagation_t nan) {
    if (int code = begin(__func__)) return code;
    desc->mode = mode;
    return mode == CNNL_OP_TENSOR_MUL && type == cnnl_dtype_FLOAT && nan == CNNL_PROPAGATE_NAN
               ? 0
               : kBadParameter;
}

cnnlStatus_t cnnlDestroyOpTensorDescriptor(cnnlOpTensorDescriptor_t desc) {
    return destroy(__func__, desc);
}

cnnlStatus_t cnnlGetOpTensorWorkspaceSize(cnnlHandle_t, const Tensor, const Tensor, const Tensor,
                                          size_t *size) {
    if (int code = begin(__func__)) return code;
    *size = kWorkspace;
    return 0;
}

cnnlStatus_t cnnlOpTensor(cnnlHandle_t handle, cnnlOpTensorDescriptor_t desc, const void *alpha1,
                          const Tensor a_desc, const void *a, const void *alpha2,
                          const Tensor b_desc, const void *b, void *workspace,
                          size_t workspace_size, const void *beta, const Tensor c_desc, void *c) {
    if (int code = begin(__func__)) return code;
    if (!desc->mode || !same(a_desc, c_desc) || !b_desc || b_desc->type != c_desc->type ||
        b_desc->size.size() != c_desc->size.size() || !is_dense(a_desc) || !is_dense(b_desc) ||
        !is_dense(c_desc) || !is_workspace(workspace, workspace_size) || !alpha1 || !alpha2 ||
        !beta)
        return kBadParameter;
    for (size_t i = 0; i < b_desc->size.size(); ++i)
        if (b_desc->size[i] != 1 && b_desc->size[i] != c_desc->size[i]) return kBadParameter;
    auto factor = [](const void *at) { return double(*static_cast<const float *>(at)); };
    return start(handle, [both = factor(alpha1) * factor(alpha2), keep = factor(beta),
                          x = strided(*a_desc, a), y = strided(*b_desc, b),
                          z = strided(*c_desc, c)](int on) {
        const Numbers left = read(x, on), right = read(y, on);
        Numbers result = keep != 0 ? read(z, on) : Numbers(size_t(z.count()));
        if (left.empty() || right.empty() || result.empty()) return z.count() == 0;
        for (int64_t i = 0; i < z.count(); ++i)
            result[size_t(i)] = keep * result[size_t(i)] +
                                both * left[size_t(i)] * right[size_t(broadcast(z, y, i))];
        return write(z, result, on);
    });
}

}  // extern "C"
