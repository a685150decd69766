// Makes a node from fused programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuse_program.h"

namespace infinicore::detail {

// The concatenation of the two steps.
struct Draft {
    std::string name;
    std::string kernel;      // the operator that the program follows; empty: none
    int kernel_tensors = 0;  // of it; pointers as well
    int kernel_scalars = 0;
    const InfiniProgram *program = nullptr;
    std::vector<Layout> tensors;
    std::vector<uint8_t> rounded;     // see Step
    std::vector<Location> locations;  // by pointer
    std::vector<InfiniAttribute> attributes;
    std::vector<InfiniScalar> scalars;
    DeviceRuntime *runtime = nullptr;
    std::vector<std::shared_ptr<const Step>> parts;
    // Invariants of the result: the index spaces of its phases, and the type that it computes in.
    std::vector<Sizes> spaces;
    Computing computing = Computing::Unknown;
};

// Removes what the program does not use, and plans it. None: not worthwhile, or not supported by
// the back end.
std::optional<Node> make_node(const Draft &draft);

}  // namespace infinicore::detail
