// Products as dot products, whose summation order depends only on k: used for batch-invariant float
// products if b's columns are contiguous along k, like weights [n, k]. b is read in memory order,
// once for some hundred rows.
#pragma once

#include "matmul.h"

namespace infini::cpu {

// Whether dots() supports the product. Depends only on dtypes and the strides of b.
bool dots_take(const Matmul &product);
size_t dots_workspace(const Matmul &product);
void dots(const Matmul &product, void *workspace);

}  // namespace infini::cpu
