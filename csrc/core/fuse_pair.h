// Fuses two nodes of a record into one.
#pragma once

#include "fuse_step.h"

namespace infinicore::detail {

// An argument of a node: the memory that it accesses.
struct Use {
    int argument;
    Range range;
    bool reads, writes;
};
std::vector<Use> uses_of(const Node &node);

// Whether it is a kernel with an epilogue.
bool is_epilogue(const Step &step);

// A tensor that the first node writes and the second reads.
struct Between {
    int output;               // tensor of the first
    std::vector<int> inputs;  // tensors of the second
    bool overwritten;         // the second overwrites it
    Range range;
    bool keep = true;  // it has other readers, so it must be written
};

struct Party {
    const Node &node;
    const std::vector<Use> &uses;
};

// Empty: the two cannot be fused.
std::vector<Between> find_between(const Party &first, const Party &second);

// One node with the effect of the two.
std::optional<Node> join(const Party &first, const Party &second,
                         const std::vector<Between> &between);

}  // namespace infinicore::detail
