// Composes collectives that vendors' libraries lack from those that they have.
#pragma once

#include "comm.h"

namespace infini::ccl {

// The operation itself where the back end has it, else the operations of this rank that make it.
std::vector<InfiniCollective> compose(const Comm &comm, const Operation &operation);

}  // namespace infini::ccl
