// Shared by the files with functions of the simulated libcnnl.so and libcnnl_extra.so.
#pragma once

#include "accelerator/operators.h"
#include "cambricon/objects.h"

using Tensor = cnnlTensorDescriptor_t;

namespace cambricon {

constexpr size_t kWorkspace = 256;

inline bool same(Tensor a, Tensor b) { return a && b && a->type == b->type && a->size == b->size; }

inline bool is_dense(Tensor t) {
    int step = 1;
    for (size_t i = t->size.size(); i-- > 0;) {
        if (t->size[i] > 1 && t->stride[i] != step) return false;
        step *= t->size[i];
    }
    return true;
}

template <class Work>
int start(cnnlHandle_t handle, Work work) {
    return simulated::enqueue(
               handle->queue,
               [=, number = simulated::device()] { return work(number) ? 0 : kFailed; })
               ? 0
               : kFailed;
}

// Whether it is device memory of sufficient size.
inline bool is_workspace(void *workspace, size_t bytes) {
    return bytes >= kWorkspace && simulated::bytes_of(workspace, bytes, simulated::device());
}

template <class T>
int make(const char *function, T **made) {
    if (int code = simulated::begin(function)) return code;
    *made = new T;
    return 0;
}

template <class T>
int destroy(const char *function, T *object) {
    if (int code = simulated::begin(function)) return code;
    delete object;
    return 0;
}

}  // namespace cambricon
