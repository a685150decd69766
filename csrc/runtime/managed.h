// Managed memory: the advice given for ranges of it.
#pragma once

#include <cstdint>

namespace infini::rt {

// The managed allocation that began there has been freed.
void forget_advice(uintptr_t base);

}  // namespace infini::rt
