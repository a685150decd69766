// Properties of programs that the fuser needs.
#pragma once

#include <vector>

#include "fuse_layout.h"

namespace infinicore::detail {

// The type of the computation, as back ends choose it.
enum class Computing { Float, Double, Int, Uint, Unknown };
Computing computing_of(const std::vector<Layout> &tensors, const std::vector<uint8_t> &present,
                       uint32_t flags);

// The program of a step, even if a kernel is used for it; null: only a kernel can do it.
const InfiniProgram *program_of(const Step &step);
// Whether it returns its input unchanged.
bool is_plain_copy(const Step &step);

bool is_map(const InfiniProgram &program);
// Whether it only copies.
bool is_copy(const InfiniProgram &program, int stage);
// Whether a tensor gets only the values 0 and 1.
bool gives_truth(const InfiniProgram &program, int tensor);
// Whether it does not depend on the index of an element.
bool is_uniform(const InfiniProgram &program);
// Whether its index space may be reshaped.
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
