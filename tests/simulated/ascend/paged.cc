// Simulated libopapi.so: attention to paged caches, in two steps, computed on the host.
#include <cstring>

#include "accelerator/operators.h"
#include "ascend/objects.h"

using namespace simulated;
using namespace ascend;

namespace {

bool is_dense(const aclTensor *t) {
    int64_t step = 1;
    for (size_t i = t->size.size(); i-- > 0;) {
        if (t->size[i] > 1 && t->stride[i] != step) return false;
        step *= t->size[i];
    }
    return true;
}

const aclTensor *only(const aclTensorList *list) {
    return list && list->tensors.size() == 1 ? list->tensors[0] : nullptr;
}

struct Paged {
    const aclTensor *q, *k, *v, *table, *out;
    int64_t heads, kv_heads, block, most_block, most_size;

    bool fits(size_t sequences) const {
        return q && k && v && table && out && q->size == out->size && q->type == out->type &&
               k->type == q->type && k->size == v->size && k->size.size() == 4 &&
               (q->type == data_type_FLOAT16 || q->type == data_type_BF16) &&
               table->type == data_type_INT32 && table->size.size() == 2 &&
               table->size[0] == int64_t(sequences) && k->size[1] == kv_heads &&
               k->size[2] == block && block % 16 == 0 && block <= most_block &&
               heads % kv_heads == 0 && q->size[1] == heads && q->size.back() == k->size[3] &&
               q->size.back() % 16 == 0 && q->size.back() <= most_size && is_dense(q) &&
               is_dense(k) && is_dense(v) && is_dense(table) && is_dense(out);
    }

    int start(const char *function, std::vector<int64_t> ends, std::vector<int64_t> lengths,
              double scale, uint64_t *bytes, aclOpExecutor **executor) const {
        Strided a = strided(*q), o = strided(*out);
        if (a.size.size() == 4)  // one query of each
            for (Strided *each : {&a, &o}) {
                each->size = {a.size[0], a.size[1], a.size[3]};
                each->stride = {a.size[1] * a.size[2], a.size[2], 1};
            }
        return prepare(
            function,
            [=, b = strided(*k), c = strided(*v), t = strided(*table)](int on) {
                return attend_paged(a, b, c, t, ends, lengths, scale, o, on);
            },
            bytes, executor);
    }
};

}  // namespace

extern "C" {

aclnnStatus aclnnIncreFlashAttentionV4GetWorkspaceSize(
    const aclTensor *q, const aclTensorList *key, const aclTensorList *value, const aclTensor *pse,
    const aclTensor *mask, const aclIntArray *lengths, const aclTensor *scale1,
    const aclTensor *scale2, const aclTensor *scale3, const aclTensor *scale4,
    const aclTensor *offset, const aclTensor *scale5, const aclTensor *offset2,
    const aclTensor *table, const aclTensor *padding, int64_t heads, double scale, char *layout,
    int64_t kv_heads, int64_t block, int64_t precise, const aclTensor *out, uint64_t *bytes,
    aclOpExecutor **executor) {
    const Paged paged{q, only(key), only(value), table, out, heads, kv_heads, block, 512, 512};
    if (pse || mask || scale1 || scale2 || scale3 || scale4 || offset || scale5 || offset2 ||
        padding || strcmp(layout, "BNSD") != 0 || precise != 0 || !lengths ||
        !paged.fits(lengths->values.size()) || q->size.size() != 4 || q->size[2] != 1 ||
        q->size[0] != int64_t(lengths->values.size()))
        return kBadParameter;
    std::vector<int64_t> ends;
    for (int64_t i = 1; i <= q->size[0]; ++i) ends.push_back(i);
    return paged.start(__func__, ends, lengths->values, scale, bytes, executor);
}

aclnnStatus aclnnIncreFlashAttentionV4(void *workspace, uint64_t bytes, aclOpExecutor *executor,
                                       aclrtStream stream) {
    return run(__func__, workspace, bytes, executor, stream);
}

aclnnStatus aclnnFusedInferAttentionScoreV3GetWorkspaceSize(
    const aclTensor *q, const aclTensorList *key, const aclTensorList *value, const aclTensor *pse,
    const aclTensor *mask, const aclIntArray *ends, const aclIntArray *lengths,
    const aclTensor *scale1, const aclTensor *scale2, const aclTensor *scale3,
    const aclTensor *scale4, const aclTensor *offset, const aclTensor *scale5,
    const aclTensor *offset2, const aclTensor *table, const aclTensor *padding,
    const aclTensor *padding2, const aclTensor *scale6, const aclTensor *offset3,
    const aclTensor *scale7, const aclTensor *offset4, const aclTensor *prefix,
    const aclTensor *prefix2, const aclIntArray *prefix_length, const aclTensor *rope,
    const aclTensor *rope2, const aclTensor *scale8, int64_t heads, double scale, int64_t before,
    int64_t after, char *layout, int64_t kv_heads, int64_t mode, int64_t precise, int64_t block,
    int64_t antiquant, bool lse, int64_t antiquant2, int64_t antiquant3, const aclTensor *out,
    const aclTensor *lse_out, uint64_t *bytes, aclOpExecutor **executor) {
    const Paged paged{q, only(key), only(value), table, out, heads, kv_heads, block, 128, 256};
    if (pse || scale1 || scale2 || scale3 || scale4 || offset || scale5 || offset2 || padding ||
        padding2 || scale6 || offset3 || scale7 || offset4 || prefix || prefix2 || prefix_length ||
        rope || rope2 || scale8 || before < 0 || after < 0 || strcmp(layout, "TND") != 0 ||
        mode != sparse_mode_RIGHT_DOWN_CAUSAL || precise != 0 || antiquant || lse || antiquant2 ||
        antiquant3 || lse_out || !mask || mask->size != std::vector<int64_t>{2048, 2048} ||
        mask->type != data_type_BOOL || !ends || !lengths || ends->values.empty() ||
        ends->values.size() != lengths->values.size() || ends->values.size() > 4096 ||
        !paged.fits(lengths->values.size()) || q->size.size() != 3 ||
        ends->values.back() != q->size[0])
        return kBadParameter;
    return paged.start(__func__, ends->values, lengths->values, scale, bytes, executor);
}

aclnnStatus aclnnFusedInferAttentionScoreV3(void *workspace, uint64_t bytes,
                                            aclOpExecutor *executor, aclrtStream stream) {
    return run(__func__, workspace, bytes, executor, stream);
}

}  // extern "C"
