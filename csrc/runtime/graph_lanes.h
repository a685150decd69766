// Distributes a graph's work over lanes: the first half of compiling it, which needs no device.
#pragma once

#include "exec.h"

namespace infini::rt {

// One step of a lane. The first step is the start of lane 0, the last one its end.
struct LaneStep {
    Node *node;  // null for start and end
    uint32_t lane;
    uint32_t place;             // in the lane, from 1
    size_t frontier;            // index: what is done when this step is
    std::vector<size_t> waits;  // steps of other lanes that must be done before
    bool recorded = false;      // another lane waits for this step
};

struct Plan {
    std::vector<LaneStep> steps;   // so that each comes after all it waits for
    std::vector<Device *> lanes;   // their devices
    std::vector<EventUse> events;  // of the client
};

// Distributes the enabled nodes of an acyclic graph, including child graphs. `fallback` is the
// device of lane 0 if there is no work. graph_mutex() is held.
Plan plan_lanes(const Graph &graph, Device &fallback);

}  // namespace infini::rt
