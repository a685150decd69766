// Casts: maps that only change the type of their elements.
#pragma once

#include "program/functor.h"

namespace infini::cpu::program {

// The loop from one dtype to another. Null if there is no direct one; then elements are converted
// through the compute type of the program.
BlockFunction cast_function(int from, int to);

}  // namespace infini::cpu::program
