// Casts: maps that only change the type of their elements.
#pragma once

#include "program/functor.h"

namespace infini::cpu::program {

// A loop from one dtype to another. Null: there is none of its own, and elements go through the
// type that the program computes in.
BlockFunction cast_function(int from, int to);

}  // namespace infini::cpu::program
