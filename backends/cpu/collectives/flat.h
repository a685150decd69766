// Collectives over links, by direct exchange: each rank sends to each other what that one needs.
#pragma once

#include <infini/collectives.h>

#include <vector>

#include "flat_session.h"

namespace infini::cpu::collectives {

// Does one collective between some ranks of a network. In `work` ranks are positions among the
// members, of which this rank is one; `announced` is what all of them have to agree on.
bool run_flat(Network &network, const std::vector<int> &members, const InfiniCollective &work,
              const Announcement &announced, double timeout);

// All sends and receives of a group, side by side.
bool run_flat_messages(Network &network, const std::vector<const InfiniCollective *> &messages,
                       double timeout);

}  // namespace infini::cpu::collectives
