// How the work of a graph is spread over lanes: the first half of compiling it, which needs no
// device.
#pragma once

#include "exec.h"

namespace infini::rt {

// One step of a lane. The first step of all is the start of lane 0, the last one its end.
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

// Spreads the enabled nodes of a graph without cycles, child graphs included. `fallback` is the
// device of lane 0 if there is no work. graph_mutex() held.
Plan plan_lanes(const Graph &graph, Device &fallback);

}  // namespace infini::rt
