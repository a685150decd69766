// Two nodes of a record as one.
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

// What the first node writes and the second reads.
struct Between {
    int output;               // tensor of the first
    int output_argument;      // and its argument
    std::vector<int> inputs;  // tensors of the second
    bool overwritten;         // the second writes it anew
    Range range;
};

struct Party {
    const Node &node;
    const std::vector<Use> &uses;
};

// None: the two can't be one, whatever lies between them.
std::optional<Between> find_between(const Party &first, const Party &second);

// Both as one node that does what the two did one right after the other. With `keep` the tensor between
// them is written too.
std::optional<Node> join(const Party &first, const Party &second, const Between &between,
                         bool keep);

}  // namespace infinicore::detail
