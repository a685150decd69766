// Simulated libopapi.so: gather, scatter and cumulative sums, each function in two steps.
#include <algorithm>

#include "ascend/function.h"

using namespace simulated;
using namespace ascend;

namespace {

int arg(const char *function, const aclTensor *x, int64_t dim, bool keep, bool largest,
        aclTensor *out, uint64_t *bytes, aclOpExecutor **executor) {
    const int d = x ? dimension(x, dim) : -1;
    if (!out || d < 0 || out->type != data_type_INT64 || out->size.size() + !keep != x->size.size())
        return kBadParameter;
    return prepare(
        function,
        [=, a = strided(*x), o = strided(*out)](int on) { return extreme(a, d, largest, o, on); },
        bytes, executor);
}

}  // namespace

extern "C" {

aclnnStatus aclnnArgMaxGetWorkspaceSize(const aclTensor *x, int64_t dim, bool keep, aclTensor *out,
                                        SIZE) {
    return arg(__func__, x, dim, keep, true, out, bytes, executor);
}
RUN(aclnnArgMax)

aclnnStatus aclnnArgMinGetWorkspaceSize(const aclTensor *x, int64_t dim, bool keep, aclTensor *out,
                                        SIZE) {
    return arg(__func__, x, dim, keep, false, out, bytes, executor);
}
RUN(aclnnArgMin)

aclnnStatus aclnnIndexSelectGetWorkspaceSize(const aclTensor *x, int64_t dim,
                                             const aclTensor *index, aclTensor *out, SIZE) {
    const int d = x ? dimension(x, dim) : -1;
    if (!index || !out || d < 0 || !is_index(index) || index->size.size() > 1 ||
        x->type != out->type || x->size.size() != out->size.size())
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), i = strided(*index), o = strided(*out)](int on) {
            return select(a, d, i, o, on);
        },
        bytes, executor);
}
RUN(aclnnIndexSelect)

aclnnStatus aclnnGatherGetWorkspaceSize(const aclTensor *x, const int64_t dim,
                                        const aclTensor *index, aclTensor *out, SIZE) {
    const int d = x ? dimension(x, dim) : -1;
    if (!index || !out || d < 0 || !is_index(index) || index->size != out->size ||
        x->type != out->type || x->size.size() != out->size.size())
        return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), i = strided(*index), o = strided(*out)](int on) {
            return gather(a, d, i, o, on);
        },
        bytes, executor);
}
RUN(aclnnGather)

aclnnStatus aclnnCumsumGetWorkspaceSize(const aclTensor *x, int64_t dim, aclDataType type,
                                        aclTensor *out, SIZE) {
    const int d = x ? dimension(x, dim) : -1;
    if (!same(x, out) || d < 0 || type != out->type) return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), b = strided(*out)](int on) { return running_sum(a, d, b, on); }, bytes,
        executor);
}
RUN(aclnnCumsum)

aclnnStatus aclnnClampGetWorkspaceSize(const aclTensor *x, const aclScalar *low,
                                       const aclScalar *high, aclTensor *out, SIZE) {
    if (!same(x, out) || !low || !high) return kBadParameter;
    return prepare(
        __func__,
        [=, a = strided(*x), b = strided(*out), least = low->value, most = high->value](int on) {
            Numbers all = read(a, on);
            for (double &number : all) number = std::max(least, std::min(most, number));
            return write(b, all, on);
        },
        bytes, executor);
}
RUN(aclnnClamp)

aclnnStatus aclnnNeTensorGetWorkspaceSize(const aclTensor *a, const aclTensor *b, aclTensor *out,
                                          SIZE) {
    if (!same(a, b) || !out || out->type != data_type_BOOL || out->size != a->size)
        return kBadParameter;
    return prepare(
        __func__,
        [x = strided(*a), y = strided(*b), o = strided(*out)](int on) {
            return combine(x, y, o, [](double l, double r) { return double(l != r); }, on);
        },
        bytes, executor);
}
RUN(aclnnNeTensor)

aclnnStatus aclnnMulGetWorkspaceSize(const aclTensor *a, const aclTensor *b, aclTensor *out, SIZE) {
    if (!a || !b || !out || a->type != b->type || out->type != a->type) return kBadParameter;
    return prepare(
        __func__,
        [x = strided(*a), y = strided(*b), o = strided(*out)](int on) {
            return combine(x, y, o, [](double l, double r) { return l * r; }, on);
        },
        bytes, executor);
}
RUN(aclnnMul)

}  // extern "C"
