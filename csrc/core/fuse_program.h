// Properties of programs that the fuser needs.
#pragma once

#include <vector>

#include "fuse_layout.h"

namespace infinicore::detail {

// What numbers are computed in, as back ends choose it.
enum class Computing { Float, Double, Int, Uint, Unknown };
Computing computing_of(const std::vector<Layout> &tensors, const std::vector<uint8_t> &present,
                       uint32_t flags);

// That of a step, also where it has a kernel but could be done by a program; null: a kernel must do
// it.
const InfiniProgram *program_of(const Step &step);
// Does it return its input unchanged?
bool is_plain_copy(const Step &step);

bool is_map(const InfiniProgram &program);
// Is its only purpose to copy?
bool is_copy(const InfiniProgram &program, int stage);
// Does a tensor get nothing but 0 and 1?
bool gives_truth(const InfiniProgram &program, int tensor);
// Is there nothing that differs from element to element?
bool is_uniform(const InfiniProgram &program);
// May its index space be another shape?
bool can_reindex(const InfiniProgram &program);
// The first phase that reads one of the tensors; -1: none.
int reading_phase(const InfiniProgram &program, const std::vector<int> &tensors);
bool reads_pointer(const InfiniProgram &program, int pointer);

// The index space of a phase.
Sizes space_of(const InfiniProgram &program, const std::vector<Layout> &tensors, int phase);

// Calls f with each operand that a stage reads, then with each that it writes.
template <class Read, class Write>
void visit(const InfiniStage &stage, Read &&read, Write &&write) {
    for (int i = 0; i < stage.input_count; ++i) read(stage.inputs[i]);
    for (int i = 0; i < stage.output_count; ++i)
        if (stage.outputs[i] >= 0) write(stage.outputs[i]);
}

}  // namespace infinicore::detail
