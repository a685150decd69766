// Products of few rows (decoding: m = 1 to 8) with a large matrix: each of its elements is read once,
// in the order in which it lies in memory, widened in a register and multiplied there.
#pragma once

#include "matmul.h"

namespace infini::cpu {

// Is the product one for gemv()? Looks at sizes, dtypes and strides only.
bool gemv_takes(const Matmul &product);
size_t gemv_workspace(const Matmul &product);
void gemv(const Matmul &product, void *workspace);

}  // namespace infini::cpu
