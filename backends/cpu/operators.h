// Operators in streams: plans are looked up in the kernels' tables, counted, and run.
#pragma once

#include <infini/backend.h>

namespace infini::cpu {

extern const InfiniOperators operators;

// Runs a plan on this thread.
void run_kernel(const InfiniKernel &kernel);

// Whether it takes some 10 microseconds at most.
bool is_short(const InfiniKernel &kernel);

// A kernel in a queue: it holds the plan and has its own copy of the arguments. Null:
// no memory.
struct QueuedKernel;
QueuedKernel *keep(const InfiniKernel &kernel);
void run_and_drop(QueuedKernel *kernel);

// The name of the best instruction set whose kernels are used.
const char *instruction_set();
// The sets that kernels were compiled for, each followed by a space.
const char *compiled_instruction_sets();
// False if this processor has none of those sets.
bool has_kernels();
// Whether INFINI_CPU_ISA names a set that was not compiled, or that this processor lacks.
bool is_instruction_set_ignored();

}  // namespace infini::cpu
