// Of rotmg: scalars in device memory.
#pragma once

#include "divide.h"

namespace infini {

struct RotmgParams {
    void *d1, *d2, *x;
    const void *y;
    void *param;
    int64_t step;  // from one entry of param to the next
};

}  // namespace infini
