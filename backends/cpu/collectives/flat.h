// Collectives over links, by direct exchange: each rank sends each other rank what it needs.
#pragma once

#include <infini/collectives.h>

#include <vector>

#include "flat_session.h"

namespace infini::cpu::collectives {

// Does one collective between some ranks of a network. In `work` ranks are positions among the
// members, of which this rank is one; `announced` is what they all must agree on.
bool run_flat(Network &network, const std::vector<int> &members, const InfiniCollective &work,
              const Announcement &announced, double timeout);

// All sends and receives of a group, concurrently.
bool run_flat_messages(Network &network, const std::vector<const InfiniCollective *> &messages,
                       double timeout);

}  // namespace infini::cpu::collectives
