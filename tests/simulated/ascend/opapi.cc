// Simulated libopapi.so: aclnn functions, each in two steps, computed on the host.
#include "accelerator/products.h"
#include "ascend/objects.h"

using namespace simulated;
using namespace ascend;

namespace ascend {

int dtype_of(int type) {
    switch (type) {
        case data_type_FLOAT:
            return INFINI_DTYPE_F32;
        case data_type_FLOAT16:
            return INFINI_DTYPE_F16;
        case data_type_BF16:
            return INFINI_DTYPE_BF16;
        case data_type_INT8:
            return INFINI_DTYPE_I8;
        case data_type_INT16:
            return INFINI_DTYPE_I16;
        case data_type_INT32:
            return INFINI_DTYPE_I32;
        case data_type_INT64:
            return INFINI_DTYPE_I64;
        case data_type_UINT8:
            return INFINI_DTYPE_U8;
        case data_type_BOOL:
            return INFINI_DTYPE_BOOL;
        default:
            return 0;
    }
}

Strided strided(const aclTensor &t) { return {t.data, dtype_of(t.type), t.size, t.stride}; }

int prepare(const char *function, std::function<bool(int)> work, uint64_t *bytes,
            aclOpExecutor **executor) {
    if (int code = begin(function)) return code;
    if (!bytes || !executor) return kNullPointer;
    *bytes = kWorkspace;
    *executor = new aclOpExecutor{
        [work = std::move(work), number = device()] { return work(number) ? 0 : kInner; },
        kWorkspace};
    return 0;
}

int run(const char *function, void *workspace, uint64_t bytes, aclOpExecutor *executor,
        void *stream) {
    if (int code = begin(function)) return code;
    if (!executor) return kNullPointer;
    if (bytes < executor->workspace || !bytes_of(workspace, bytes, device())) return kBadParameter;
    const bool good = enqueue(stream, executor->work);
    delete executor;  // single use
    return good ? 0 : kInner;
}

}  // namespace ascend

namespace {

Matrices matrices(const aclTensor &t) {
    const size_t n = t.size.size();
    return {t.data,        dtype_of(t.type),         n == 3 ? t.size[0] : 1, t.size[n - 2],
            t.size[n - 1], n == 3 ? t.stride[0] : 0, t.stride[n - 2],        t.stride[n - 1]};
}

int multiply(const aclTensor *out, const aclTensor *left, const aclTensor *right, double alpha,
             double beta, bool reads, int8_t cube, uint64_t *bytes, aclOpExecutor **executor) {
    if (!out || !left || !right || !bytes || !executor) return kNullPointer;
    const Matrices c = matrices(*out), a = matrices(*left), b = matrices(*right);
    if (!c.dtype || a.dtype != c.dtype || b.dtype != c.dtype || cube != cube_math_KEEP_DTYPE ||
        a.rows != c.rows || b.columns != c.columns || a.columns != b.rows || a.batch != c.batch ||
        b.batch != c.batch)
        return kBadParameter;
    *bytes = kWorkspace;
    *executor = new aclOpExecutor{[=, number = device()] {
                                      return simulated::multiply(c, a, b, alpha, beta, reads,
                                                                 number, kInner);
                                  },
                                  kWorkspace};
    return 0;
}

}  // namespace

extern "C" {

aclTensor *aclCreateTensor(const int64_t *dims, uint64_t ndim, aclDataType type,
                           const int64_t *strides, int64_t offset, aclFormat format,
                           const int64_t *, uint64_t, void *data) {
    begin(__func__);
    if (format != format_ND || offset != 0) return nullptr;
    return new aclTensor{{dims, dims + ndim}, {strides, strides + ndim}, type, data};
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
    delete tensor;
    return 0;
}

aclScalar *aclCreateScalar(void *value, aclDataType type) {
    if (type == data_type_INT64) return new aclScalar{double(*static_cast<int64_t *>(value))};
    return type == data_type_FLOAT ? new aclScalar{*static_cast<float *>(value)} : nullptr;
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar) {
    delete scalar;
    return 0;
}

aclIntArray *aclCreateIntArray(const int64_t *values, uint64_t count) {
    return new aclIntArray{{values, values + count}};
}

aclnnStatus aclDestroyIntArray(const aclIntArray *list) {
    delete list;
    return 0;
}

aclTensorList *aclCreateTensorList(const aclTensor *const *tensors, uint64_t count) {
    return new aclTensorList{{tensors, tensors + count}};
}

aclnnStatus aclDestroyTensorList(const aclTensorList *list) {
    for (const aclTensor *tensor : list->tensors) delete tensor;
    delete list;
    return 0;
}

aclnnStatus aclnnMatmulGetWorkspaceSize(const aclTensor *self, const aclTensor *mat2,
                                        aclTensor *out, int8_t cube, uint64_t *bytes,
                                        aclOpExecutor **executor) {
    if (int code = begin(__func__)) return code;
    return multiply(out, self, mat2, 1, 0, false, cube, bytes, executor);
}

aclnnStatus aclnnMatmul(void *workspace, uint64_t bytes, aclOpExecutor *executor,
                        aclrtStream stream) {
    return run(__func__, workspace, bytes, executor, stream);
}

aclnnStatus aclnnGemmGetWorkspaceSize(const aclTensor *a, const aclTensor *b, const aclTensor *c,
                                      float alpha, float beta, int64_t trans_a, int64_t trans_b,
                                      aclTensor *out, int8_t cube, uint64_t *bytes,
                                      aclOpExecutor **executor) {
    if (int code = begin(__func__)) return code;
    if (trans_a || trans_b || !c || !out || c->data != out->data) return kBadParameter;
    if (out->size.size() != 2) return kBadParameter;
    return multiply(out, a, b, alpha, beta, true, cube, bytes, executor);
}

aclnnStatus aclnnGemm(void *workspace, uint64_t bytes, aclOpExecutor *executor,
                      aclrtStream stream) {
    return run(__func__, workspace, bytes, executor, stream);
}

aclnnStatus aclnnBaddbmmGetWorkspaceSize(const aclTensor *self, const aclTensor *batch1,
                                         const aclTensor *batch2, const aclScalar *beta,
                                         const aclScalar *alpha, aclTensor *out, int8_t cube,
                                         uint64_t *bytes, aclOpExecutor **executor) {
    if (int code = begin(__func__)) return code;
    if (!self || !out || self->data != out->data || !beta || !alpha) return kBadParameter;
    return multiply(out, batch1, batch2, alpha->value, beta->value, true, cube, bytes, executor);
}

// Sums of integers are exact; then x1 @ x2 * scale * pertokenScale + bias.
aclnnStatus aclnnQuantMatmulV4GetWorkspaceSize(const aclTensor *x1, const aclTensor *x2,
                                               const aclTensor *scale, const aclTensor *offset,
                                               const aclTensor *per_token, const aclTensor *bias,
                                               bool transpose1, bool transpose2,
                                               const aclTensor *out, uint64_t *bytes,
                                               aclOpExecutor **executor) {
    if (!x1 || !x2 || !scale || !per_token || !out) return kNullPointer;
    const int64_t m = out->size[0], n = out->size[1], k = x1->size[1];
    using Sizes = std::vector<int64_t>;
    if (offset || transpose1 || transpose2 || x1->type != data_type_INT8 ||
        x2->type != data_type_INT8 || scale->type != data_type_FLOAT ||
        per_token->type != data_type_FLOAT ||
        (out->type != data_type_FLOAT16 && out->type != data_type_BF16) ||
        (bias && (bias->type != out->type || bias->size != Sizes{n})) || x1->size != Sizes{m, k} ||
        x2->size != Sizes{k, n} || scale->size != Sizes{n} || per_token->size != Sizes{m} ||
        k > 65535 || n > 65535)
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x1), b = strided(*x2), columns = strided(*scale),
         rows = strided(*per_token), o = strided(*out),
         added = bias ? strided(*bias) : Strided{}](int on) {
            const Numbers left = read(a, on), right = read(b, on), by_column = read(columns, on),
                          by_row = read(rows, on);
            const Numbers more = added.dtype ? read(added, on) : Numbers(size_t(n));
            if (left.empty() || right.empty() || by_column.empty() || by_row.empty()) return false;
            Numbers result;
            for (int64_t y = 0; y < m; ++y)
                for (int64_t x = 0; x < n; ++x) {
                    double sum = 0;
                    for (int64_t i = 0; i < k; ++i)
                        sum += left[size_t(y * k + i)] * right[size_t(i * n + x)];
                    result.push_back(sum * by_column[size_t(x)] * by_row[size_t(y)] +
                                     more[size_t(x)]);
                }
            return write(o, result, on);
        },
        bytes, executor);
}

aclnnStatus aclnnQuantMatmulV4(void *workspace, uint64_t bytes, aclOpExecutor *executor,
                               aclrtStream stream) {
    return run(__func__, workspace, bytes, executor, stream);
}

aclnnStatus aclnnBaddbmm(void *workspace, uint64_t bytes, aclOpExecutor *executor,
                         aclrtStream stream) {
    return run(__func__, workspace, bytes, executor, stream);
}

}  // extern "C"
