// Combining the elements of several ranks.
#pragma once

#include <cstddef>

namespace infini::cpu::collectives {

// Values of InfiniCollective::op.
enum { kSum, kProduct, kMax, kMin, kAverage };

// to[i] = from[0][i] op from[1][i] op ..., for `count` elements; to may be one of them. Of floats
// below 32 bits the result is rounded once.
using Reduce = void (*)(void *to, const void *const *from, int sources, size_t count);

// Null: there is no such arithmetic.
Reduce find_reduce(int dtype, int op);

}  // namespace infini::cpu::collectives
