// From joined programs to a step: what the fuser knows of programs, and how a node is made of one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuse_layout.h"

namespace infinicore::detail {

// ---- Looking at programs ------------------------------------------------------------------------

// What numbers are computed in, as back ends choose it.
enum class Computing { Float, Double, Int, Uint, Unknown };
Computing computing_of(const std::vector<Layout> &tensors, const std::vector<uint8_t> &present,
                       uint32_t flags);

bool is_map(const InfiniProgram &program);
// Is its only purpose to copy?
bool is_copy(const InfiniStage &stage);
// Does a tensor get nothing but 0 and 1?
bool gives_truth(const InfiniProgram &program, int tensor);
// Is there nothing that differs from element to element?
bool is_uniform(const InfiniProgram &program);
// May its index space be another shape?
bool can_reindex(const InfiniProgram &program);
// The first phase that reads one of the tensors; -1: none.
int reading_phase(const InfiniProgram &program, const std::vector<int> &tensors);
bool reads_pointer(const InfiniProgram &program, int pointer);

// What a phase goes over.
Sizes space_of(const InfiniProgram &program, const std::vector<Layout> &tensors, int phase);

// ---- Making steps -------------------------------------------------------------------------------

// All that the two steps have, one behind the other.
struct Draft {
    std::string name;
    std::string kernel;      // the operator that the program follows; empty: none
    int kernel_tensors = 0;  // of it; pointers as well
    int kernel_scalars = 0;
    const InfiniProgram *program = nullptr;
    std::vector<Layout> tensors;
    std::vector<Place> places;  // by pointer
    std::vector<InfiniAttribute> attributes;
    std::vector<InfiniScalar> scalars;
    DeviceRuntime *runtime = nullptr;
    std::vector<std::shared_ptr<const Step>> parts;
    // What must hold of the result: the spaces of its phases, and what it computes in.
    std::vector<Sizes> spaces;
    Computing computing = Computing::Unknown;
};

// Leaves out what the program does not use, and plans it. None: it is no good, or the back end can't.
std::optional<Node> make_node(const Draft &draft);

}  // namespace infinicore::detail
