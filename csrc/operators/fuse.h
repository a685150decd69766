// Joins programs: what one writes and another reads stays in the cache, or in registers, between
// them. It is for traced functions and recorded graphs.
#pragma once

#include <infini/program.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace infini::op {

// A program that owns its data. The joined operation has all that the first has (tensors, pointers,
// attributes, scalars), then all that the second has; a tensor in between is there twice, and is
// not touched unless it is kept.
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

// A tensor in between.
struct Link {
    int output;               // tensor of the first program
    std::vector<int> inputs;  // tensors of the second that are the same one
    bool keep;                // it is needed otherwise too, so it is written
};

struct Join {
    std::vector<Link> links;
    // Of the first operation: the second's numbers go on from there.
    int tensors, pointers, attributes, scalars;
};

// The two as one; null when they cannot be. The tensors between them must have the shape of the
// index space of the second program's phase that reads them (whatever their strides), and no other
// tensor of the second may share memory with one that the first writes. Possible are: a map into
// any program that reads the tensors in one phase; a map without other tensors, or of the same
// shape, behind any program. Between the two nothing is rounded to the tensors' dtypes.
std::unique_ptr<FusedProgram> fuse(const InfiniProgram &first, const InfiniProgram &second,
                                   const Join &join);

// Copies of tensor 0 to itself (see infiniKernelResult), and of tensor 1 to tensor 0.
const InfiniProgram &kernel_result();
const InfiniProgram &copy_program();

}  // namespace infini::op
