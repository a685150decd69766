// Simulated libcnnl_extra.so: attention to packed sequences, on the host.
#include "cambricon/function.h"

using namespace simulated;
using namespace cambricon;

struct FlashAttentionDescriptor {
    bool causal = false;
    int most_queries = 0, most_keys = 0;
    double scale = 0;
};

namespace {

// [tokens, heads, size] from `begin` up to `end`, as [1, heads, tokens, size].
Strided sequence(const Strided &all, int64_t begin, int64_t end) {
    const auto step = int64_t(all.element());
    return {static_cast<char *>(all.data) + begin * all.stride[0] * step,
            all.dtype,
            {1, all.size[1], end - begin, all.size[2]},
            {0, all.stride[1], all.stride[0], all.stride[2]}};
}

}  // namespace

extern "C" {

cnnlStatus_t cnnlCreateFlashAttentionDescriptor(cnnlFlashAttentionDescriptor_t *desc) {
    return make(__func__, desc);
}

cnnlStatus_t cnnlSetFlashAttentionDescriptor(cnnlFlashAttentionDescriptor_t desc,
                                             cnnlDataType_t type, cnnlActivationPreference_t prefer,
                                             cnnlAttentionMaskMode_t mask, bool packed,
                                             bool is_out_zero, bool stores_softmax, int queries,
                                             int keys, float dropout, float scale) {
    if (int code = begin(__func__)) return code;
    *desc = {mask == CNNL_ATTN_MASK_CAUSAL, queries, keys, scale};
    return type == cnnl_dtype_FLOAT && prefer == CNNL_ACTIVATION_HIGH_PRECISION && packed &&
                   !is_out_zero && !stores_softmax && dropout == 0 &&
                   (desc->causal || mask == CNNL_ATTN_MASK_NONE)
               ? 0
               : kBadParameter;
}

cnnlStatus_t cnnlDestroyFlashAttentionDescriptor(cnnlFlashAttentionDescriptor_t desc) {
    return destroy(__func__, desc);
}

cnnlStatus_t cnnlGetFlashAttentionForwardWorkspaceSize(cnnlHandle_t, cnnlFlashAttentionDescriptor_t,
                                                       const Tensor, const Tensor, const Tensor,
                                                       size_t *size) {
    if (int code = begin(__func__)) return code;
    *size = kWorkspace;
    return 0;
}

cnnlStatus_t cnnlFlashAttentionForward(
    cnnlHandle_t handle, cnnlFlashAttentionDescriptor_t desc, const Tensor q_desc, const void *q,
    const Tensor k_desc, const void *k, const Tensor v_desc, const void *v, const Tensor csq_desc,
    const void *csq, const Tensor csk_desc, const void *csk, const size_t *rng, void *workspace,
    size_t workspace_size, const Tensor dropout_desc, void *dropout, const Tensor lse_desc,
    void *lse, const Tensor out_desc, void *out) {
    if (int code = begin(__func__)) return code;
    if (!same(q_desc, out_desc) || !same(k_desc, v_desc) || q_desc->size.size() != 3 ||
        k_desc->size.size() != 3 || q_desc->type == cnnl_dtype_FLOAT || rng || dropout_desc ||
        dropout || !lse || !lse_desc || lse_desc->type != cnnl_dtype_FLOAT ||
        lse_desc->size != std::vector<int>{q_desc->size[1], q_desc->size[0]} ||
        csq_desc->type != cnnl_dtype_INT32 || !same(csq_desc, csk_desc) || !is_dense(q_desc) ||
        !is_dense(k_desc) || !is_dense(out_desc) || !is_workspace(workspace, workspace_size))
        return kBadParameter;
    return start(handle, [how = *desc, a = strided(*q_desc, q), b = strided(*k_desc, k),
                          c = strided(*v_desc, v), o = strided(*out_desc, out),
                          to = strided(*csq_desc, csq), from = strided(*csk_desc, csk)](int on) {
        const Numbers ends = read(to, on), key_ends = read(from, on);
        for (size_t i = 1; i < ends.size(); ++i) {
            const auto begin = int64_t(ends[i - 1]), end = int64_t(ends[i]);
            const auto first = int64_t(key_ends[i - 1]), last = int64_t(key_ends[i]);
            // For others no public source documents where the mask begins.
            if (end - begin > how.most_queries || last - first > how.most_keys ||
                (how.causal && end - begin != last - first)) {
                violate("sequences that the descriptor does not allow");
                return false;
            }
            if (!attend(sequence(a, begin, end), sequence(b, first, last), sequence(c, first, last),
                        how.scale, how.causal, sequence(o, begin, end), on))
                return false;
        }
        return !ends.empty();
    });
}

}  // extern "C"
