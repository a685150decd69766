// Objects of the simulated libcnnl.so.
#pragma once

#include <vector>

#include "accelerator/tensors.h"
#include "facts.h"

struct Handle {
    void *queue = nullptr;
};
struct TensorDescriptor {
    int type = 0;
    std::vector<int> size, stride;
};

namespace cambricon {

constexpr int kBadParameter = 3, kFailed = 8;

inline int dtype_of(int type) {  // infiniDtype_t; 0: none
    switch (type) {
        case cnnl_dtype_HALF:
            return INFINI_DTYPE_F16;
        case cnnl_dtype_FLOAT:
            return INFINI_DTYPE_F32;
        case cnnl_dtype_BFLOAT16:
            return INFINI_DTYPE_BF16;
        case cnnl_dtype_INT8:
            return INFINI_DTYPE_I8;
        case cnnl_dtype_INT16:
            return INFINI_DTYPE_I16;
        case cnnl_dtype_INT32:
            return INFINI_DTYPE_I32;
        case cnnl_dtype_INT64:
            return INFINI_DTYPE_I64;
        case cnnl_dtype_UINT8:
            return INFINI_DTYPE_U8;
        case cnnl_dtype_BOOL:
            return INFINI_DTYPE_BOOL;
        default:
            return 0;
    }
}

inline simulated::Strided strided(const TensorDescriptor &t, const void *data) {
    return {const_cast<void *>(data),
            dtype_of(t.type),
            {t.size.begin(), t.size.end()},
            {t.stride.begin(), t.stride.end()}};
}

}  // namespace cambricon
