// Shared by the files with functions of the simulated libopapi.so.
#pragma once

#include "accelerator/operators.h"
#include "ascend/objects.h"

namespace ascend {

inline bool same(const aclTensor *a, const aclTensor *b) {
    return a && b && a->type == b->type && a->size == b->size;
}

inline bool is_float(const aclTensor *t) {
    return t->type == data_type_FLOAT || t->type == data_type_FLOAT16 || t->type == data_type_BF16;
}

inline bool is_index(const aclTensor *t) {
    return t->type == data_type_INT32 || t->type == data_type_INT64;
}

inline int dimension(const aclTensor *t, int64_t dim) {
    const int ndim = int(t->size.size());
    if (dim < -ndim || dim >= ndim) return -1;
    return int(dim < 0 ? dim + ndim : dim);
}

}  // namespace ascend

// The second step of a function.
#define RUN(name)                                                              \
    aclnnStatus name(void *workspace, uint64_t bytes, aclOpExecutor *executor, \
                     aclrtStream stream) {                                     \
        return run(#name, workspace, bytes, executor, stream);                 \
    }
#define SIZE uint64_t *bytes, aclOpExecutor **executor
