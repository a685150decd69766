// Fuses programs, so that intermediate values stay in the cache or in registers. Used for traced
// functions and recorded graphs.
#pragma once

#include <infini/program.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace infini::op {

// A program that owns its data. The fused operation has the first operation's tensors, pointers,
// attributes and scalars, followed by the second's; a tensor between them occurs twice, and is not
// accessed unless it is kept.
class FusedProgram {
public:
    FusedProgram() = default;
    FusedProgram(const FusedProgram &) = delete;
    FusedProgram &operator=(const FusedProgram &) = delete;

    const InfiniProgram &program() const { return program_; }

private:
    friend class Fuser;
    std::string name_;
    std::vector<InfiniOperand> operands_;
    std::vector<InfiniPhase> phases_;
    std::vector<InfiniStage> stages_;
    std::vector<const InfiniExpression *> expressions_;  // of the stages
    std::deque<std::vector<int16_t>> numbers_;           // that stages point to
    InfiniProgram program_{};
};

// A tensor that the first program writes and the second reads.
struct Link {
    int output;               // tensor of the first program
    std::vector<int> inputs;  // tensors of the second that are the same one
    bool keep;                // it is needed otherwise too, so it is written
};

struct Join {
    std::vector<Link> links;
    // Counts of the first operation: the second's numbers continue from there.
    int tensors, pointers, attributes, scalars;
};

// The fused program; null if the two cannot be fused. The tensors between them must have the shape
// of the index space of the second program's phase that reads them (with any strides), and no other
// tensor of the second may share memory with one that the first writes. Supported are: a map
// followed by any program that reads the tensors in one phase; any program followed by a map whose
// other tensors, if any, have the same shape. Intermediate values are not rounded to the tensors'
// dtypes.
std::unique_ptr<FusedProgram> fuse(const InfiniProgram &first, const InfiniProgram &second,
                                   const Join &join);

// Copies of tensor 0 to itself (see infiniKernelResult), and of tensor 1 to tensor 0.
const InfiniProgram &kernel_result();
const InfiniProgram &copy_program();

}  // namespace infini::op
