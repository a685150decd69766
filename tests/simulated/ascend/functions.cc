// Simulated libopapi.so: functions for language models, each in two steps, computed on the host.
#include <cmath>
#include <cstring>

#include "ascend/function.h"

using namespace simulated;
using namespace ascend;

namespace {

using Unary = double (*)(double);

int unary(const char *function, const aclTensor *x, aclTensor *y, Unary what, uint64_t *bytes,
          aclOpExecutor **executor) {
    if (!same(x, y) || !is_float(x)) return kBadParameter;
    return prepare(
        function, [=, a = strided(*x), b = strided(*y)](int on) { return map(a, b, what, on); },
        bytes, executor);
}

double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }
double gelu_tanh(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

}  // namespace

extern "C" {

aclnnStatus aclnnRmsNormGetWorkspaceSize(const aclTensor *x, const aclTensor *gamma, double eps,
                                         const aclTensor *y, const aclTensor *rstd, SIZE) {
    if (!same(x, y) || !gamma || !rstd || gamma->type != x->type || !is_float(x) ||
        rstd->type != data_type_FLOAT)
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), w = strided(*gamma), b = strided(*y)](int on) {
            return rms_norm(a, w, eps, b, on);
        },
        bytes, executor);
}
RUN(aclnnRmsNorm)

aclnnStatus aclnnAddRmsNormGetWorkspaceSize(const aclTensor *x1, const aclTensor *x2,
                                            const aclTensor *gamma, double eps, const aclTensor *y,
                                            const aclTensor *rstd, const aclTensor *sum, SIZE) {
    if (!same(x1, y) || !same(x2, y) || !same(sum, y) || !gamma || gamma->type != y->type || !rstd)
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x1), b = strided(*x2), w = strided(*gamma), c = strided(*y),
         d = strided(*sum)](int on) {
            // The sum is not rounded before the norm.
            const Numbers left = read(a, on), right = read(b, on);
            Numbers total;
            for (size_t i = 0; i < left.size() && i < right.size(); ++i)
                total.push_back(left[i] + right[i]);
            std::vector<double> wide = total;
            const Numbers scale = read(w, on);
            const size_t n = size_t(a.last());
            for (size_t row = 0; row < wide.size(); row += n) {
                double square = 0;
                for (size_t i = 0; i < n; ++i) square += wide[row + i] * wide[row + i];
                for (size_t i = 0; i < n; ++i)
                    wide[row + i] *= scale[i] / std::sqrt(square / double(n) + eps);
            }
            return write(c, wide, on) && write(d, total, on);
        },
        bytes, executor);
}
RUN(aclnnAddRmsNorm)

aclnnStatus aclnnLayerNormGetWorkspaceSize(const aclTensor *x, const aclIntArray *sizes,
                                           const aclTensor *weight, const aclTensor *bias,
                                           double eps, aclTensor *y, aclTensor *, aclTensor *,
                                           SIZE) {
    if (!same(x, y) || !sizes || sizes->values != std::vector<int64_t>{x->size.back()})
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), b = strided(*y), w = weight ? strided(*weight) : Strided{},
         c = bias ? strided(*bias) : Strided{}](int on) {
            return layer_norm(a, w.dtype ? &w : nullptr, c.dtype ? &c : nullptr, eps, b, on);
        },
        bytes, executor);
}
RUN(aclnnLayerNorm)

aclnnStatus aclnnSoftmaxGetWorkspaceSize(const aclTensor *x, int64_t dim, aclTensor *y, SIZE) {
    if (!same(x, y) || dimension(x, dim) < 0 || !is_float(x)) return kBadParameter;
    return prepare(
        __func__,
        [a = strided(*x), b = strided(*y), d = dimension(x, dim)](int on) {
            return softmax(a, d, false, b, on);
        },
        bytes, executor);
}
RUN(aclnnSoftmax)

aclnnStatus aclnnLogSoftmaxGetWorkspaceSize(const aclTensor *x, int64_t dim, aclTensor *y, SIZE) {
    if (!same(x, y) || dimension(x, dim) < 0 || !is_float(x)) return kBadParameter;
    return prepare(
        __func__,
        [a = strided(*x), b = strided(*y), d = dimension(x, dim)](int on) {
            return softmax(a, d, true, b, on);
        },
        bytes, executor);
}
RUN(aclnnLogSoftmax)

aclnnStatus aclnnInplaceCopyGetWorkspaceSize(aclTensor *to, const aclTensor *from, SIZE) {
    if (!to || !from || to->type != from->type || !dtype_of(to->type)) return kBadParameter;
    return prepare(
        __func__,
        [a = strided(*from), b = strided(*to)](int on) { return copy_elements(a, b, on); }, bytes,
        executor);
}
RUN(aclnnInplaceCopy)

aclnnStatus aclnnInplaceMaskedFillScalarGetWorkspaceSize(aclTensor *x, const aclTensor *mask,
                                                         const aclScalar *value, SIZE) {
    if (!x || !mask || !value || mask->type != data_type_BOOL) return kBadParameter;
    return prepare(
        __func__,
        [a = strided(*x), m = strided(*mask), fill = value->value](int on) {
            return fill_where(a, m, fill, on);
        },
        bytes, executor);
}
RUN(aclnnInplaceMaskedFillScalar)

aclnnStatus aclnnInplaceZeroGetWorkspaceSize(aclTensor *x, SIZE) {
    if (!x) return kBadParameter;
    return prepare(
        __func__, [a = strided(*x)](int on) { return write(a, Numbers(size_t(a.count())), on); },
        bytes, executor);
}
RUN(aclnnInplaceZero)

aclnnStatus aclnnSiluGetWorkspaceSize(const aclTensor *x, aclTensor *y, SIZE) {
    return unary(__func__, x, y, silu, bytes, executor);
}
RUN(aclnnSilu)

aclnnStatus aclnnReluGetWorkspaceSize(const aclTensor *x, aclTensor *y, SIZE) {
    return unary(__func__, x, y, [](double a) { return a < 0 ? 0 : a; }, bytes, executor);
}
RUN(aclnnRelu)

aclnnStatus aclnnSigmoidGetWorkspaceSize(const aclTensor *x, aclTensor *y, SIZE) {
    return unary(__func__, x, y, [](double a) { return 1 / (1 + std::exp(-a)); }, bytes, executor);
}
RUN(aclnnSigmoid)

aclnnStatus aclnnTanhGetWorkspaceSize(const aclTensor *x, aclTensor *y, SIZE) {
    return unary(__func__, x, y, [](double a) { return std::tanh(a); }, bytes, executor);
}
RUN(aclnnTanh)

aclnnStatus aclnnGeluV2GetWorkspaceSize(const aclTensor *x, int64_t approximate, aclTensor *y,
                                        SIZE) {
    if (approximate != 0 && approximate != 1) return kBadParameter;
    return unary(__func__, x, y, approximate ? gelu_tanh : gelu, bytes, executor);
}
RUN(aclnnGeluV2)

aclnnStatus aclnnSwiGluGetWorkspaceSize(const aclTensor *x, int64_t dim, const aclTensor *y, SIZE) {
    if (!x || !y || dimension(x, dim) != int(x->size.size()) - 1 ||
        x->size.back() != 2 * y->size.back())
        return kBadParameter;
    return prepare(
        __func__,
        [a = strided(*x), b = strided(*y)](int on) {
            const Numbers all = read(a, on);
            const size_t n = size_t(b.last());
            Numbers result;
            for (size_t i = 0; i < all.size() / 2; ++i) {
                const size_t at = i / n * 2 * n + i % n;
                result.push_back(silu(all[at]) * all[at + n]);
            }
            return write(b, result, on);
        },
        bytes, executor);
}
RUN(aclnnSwiGlu)

aclnnStatus aclnnEmbeddingGetWorkspaceSize(const aclTensor *table, const aclTensor *indices,
                                           const aclTensor *out, SIZE) {
    if (!table || !indices || !out || table->type != out->type || table->size.size() != 2 ||
        !is_index(indices))
        return kBadParameter;
    return prepare(
        __func__,
        [t = strided(*table), i = strided(*indices), o = strided(*out)](int on) {
            return lookup(t, i, o, on);
        },
        bytes, executor);
}
RUN(aclnnEmbedding)

aclnnStatus aclnnRotaryPositionEmbeddingGetWorkspaceSize(const aclTensor *x, const aclTensor *cos,
                                                         const aclTensor *sin, int64_t mode,
                                                         aclTensor *y, SIZE) {
    if (!same(x, y) || !same(cos, sin) || x->size.size() != 4 || cos->size.size() != 4 ||
        cos->size.back() != x->size.back() ||
        (mode != rotary_mode_HALF && mode != rotary_mode_INTERLEAVE))
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), c = strided(*cos), s = strided(*sin), b = strided(*y)](int on) {
            return rotate(a, c, s, mode == rotary_mode_HALF, b, on);
        },
        bytes, executor);
}
RUN(aclnnRotaryPositionEmbedding)

aclnnStatus aclnnPromptFlashAttentionV3GetWorkspaceSize(
    const aclTensor *q, const aclTensor *k, const aclTensor *v, const aclTensor *pse,
    const aclTensor *mask, const aclIntArray *lengths, const aclIntArray *kv_lengths,
    const aclTensor *scale1, const aclTensor *scale2, const aclTensor *scale3,
    const aclTensor *scale4, const aclTensor *offset, int64_t heads, double scale, int64_t before,
    int64_t after, char *layout, int64_t kv_heads, int64_t mode, int64_t precise,
    const aclTensor *out, SIZE) {
    constexpr int64_t kSide = 2048;
    const bool causal = mode == sparse_mode_RIGHT_DOWN_CAUSAL;
    const bool masked =
        mask && mask->size == std::vector<int64_t>{kSide, kSide} && mask->type == data_type_BOOL;
    if (!q || !k || !v || !out || pse || lengths || kv_lengths || scale1 || scale2 || scale3 ||
        scale4 || offset || strcmp(layout, "BNSD") != 0 || !same(q, out) || !same(k, v) ||
        q->size[1] != heads || k->size[1] != kv_heads || before < 0 || after < 0 || precise != 0 ||
        causal != masked || (!causal && (mask || mode != sparse_mode_NONE)) ||
        q->type == data_type_FLOAT)
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*q), b = strided(*k), c = strided(*v), o = strided(*out)](int on) {
            return attend(a, b, c, scale, causal, o, on);
        },
        bytes, executor);
}
RUN(aclnnPromptFlashAttentionV3)

aclnnStatus aclnnSortGetWorkspaceSize(const aclTensor *x, bool stable, int64_t dim, bool descending,
                                      aclTensor *values, aclTensor *places, SIZE) {
    if (!same(x, values) || !places || places->type != data_type_INT64 || !stable ||
        dimension(x, dim) < 0)
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), v = strided(*values), p = strided(*places), d = dimension(x, dim)](
            int on) { return order(a, d, descending, a.size[size_t(d)], v, p, on); },
        bytes, executor);
}
RUN(aclnnSort)

aclnnStatus aclnnTopkGetWorkspaceSize(const aclTensor *x, int64_t k, int64_t dim, bool largest,
                                      bool, aclTensor *values, aclTensor *places, SIZE) {
    if (!x || !values || !places || places->type != data_type_INT64 || dimension(x, dim) < 0)
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), v = strided(*values), p = strided(*places),
         d = dimension(x, dim)](int on) { return order(a, d, largest, k, v, p, on); },
        bytes, executor);
}
RUN(aclnnTopk)

aclnnStatus aclnnCastGetWorkspaceSize(const aclTensor *x, const aclDataType type, aclTensor *y,
                                      SIZE) {
    if (!x || !y || type != y->type || x->size != y->size) return kBadParameter;
    return prepare(
        __func__, [a = strided(*x), b = strided(*y)](int on) { return write(b, read(a, on), on); },
        bytes, executor);
}
RUN(aclnnCast)

}  // extern "C"
