// Products as dot products, whose order of sums depends on k only: what batch-invariant products of
// floats are where b's columns lie along k, as weights [n, k] do. b is read as it lies in memory,
// once for some hundred rows.
#pragma once

#include "matmul.h"

namespace infini::cpu {

// Is the product one for dots()? Looks at dtypes and at the strides of b only.
bool dots_take(const Matmul &product);
size_t dots_workspace(const Matmul &product);
void dots(const Matmul &product, void *workspace);

}  // namespace infini::cpu
