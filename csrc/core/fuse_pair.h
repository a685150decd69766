// Fuses two nodes of a record into one.
#pragma once

#include "fuse_step.h"

namespace infinicore::detail {

// An argument of a node: what it touches.
struct Use {
    int argument;
    Range range;
    bool reads, writes;
};
std::vector<Use> uses_of(const Node &node);

// Is it a kernel with an epilogue?
bool is_epilogue(const Step &step);

// A tensor that the first node writes and the second reads.
struct Between {
    int output;               // tensor of the first
    std::vector<int> inputs;  // tensors of the second
    bool overwritten;         // the second overwrites it
    Range range;
    bool keep = true;  // somebody else reads it, so it is to be written
};

struct Party {
    const Node &node;
    const std::vector<Use> &uses;
};

// None of them: the two cannot fuse, whatever is between them.
std::vector<Between> find_between(const Party &first, const Party &second);

// One node that does what the two did one after the other.
std::optional<Node> join(const Party &first, const Party &second,
                         const std::vector<Between> &between);

}  // namespace infinicore::detail
