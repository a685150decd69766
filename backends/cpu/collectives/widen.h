// Numbers in a type in which sums of them can be carried from host to host.
#pragma once

#include <cstddef>

namespace infini::cpu::collectives {

// The dtype for combining numbers of `dtype` with `op` in several steps: the same, or a wider one.
int wide_type(int dtype, int op);
void widen(int wide, void *to, int dtype, const void *from, size_t count);
// Back, divided by `divisor`. In place where both types are the same.
void narrow(int dtype, void *to, int wide, const void *from, size_t count, int divisor);

}  // namespace infini::cpu::collectives
