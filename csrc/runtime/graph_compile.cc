// From lanes to work that can be submitted: the second half of compiling a graph.
#include <unordered_map>

#include "graph_lanes.h"
#include "graph_memory.h"

namespace infini::rt {
namespace {

// The driver's objects for the lanes of a plan (indices into Exec::lanes) and its recorded steps
// (into Exec::events). An Exec keeps these objects and reuses them when it is compiled again.
struct Objects {
    std::vector<uint32_t> lanes;
    std::vector<size_t> events;  // in the order of the steps
};

// By device: index of its next unused object.
using Cursors = std::unordered_map<const Device *, size_t>;

// The next object of the device, or the number of objects if there is none.
template <class T>
size_t find_next(const std::vector<T> &objects, Cursors &cursors, const Device *device) {
    size_t &cursor = cursors[device];
    while (cursor < objects.size() && objects[cursor].device != device) ++cursor;
    return cursor++;
}

Error choose_stream(Call &call, Exec &exec, Device &device, Cursors &cursors, size_t *chosen) {
    *chosen = find_next(exec.lanes, cursors, &device);
    if (*chosen < exec.lanes.size()) return infinirtSuccess;
    void *stream = nullptr;
    Error error =
        device.driver().stream_create(device.index, infinirtStreamNonBlocking, 0, &stream);
    if (error != infinirtSuccess)
        return call.driver(error, "the device did not make a stream for a branch of the graph");
    exec.lanes.push_back({&device, stream});
    return infinirtSuccess;
}

Error choose_event(Call &call, Exec &exec, Device &device, Cursors &cursors, size_t *chosen) {
    *chosen = find_next(exec.events, cursors, &device);
    if (*chosen < exec.events.size()) return infinirtSuccess;
    void *event = nullptr;
    Error error = device.driver().event_create(device.index, infinirtEventDisableTiming, &event);
    if (error != infinirtSuccess)
        return call.driver(error, "the device did not make an event for a branch of the graph");
    exec.events.push_back({&device, event});
    return infinirtSuccess;
}

Error choose_objects(Call &call, Exec &exec, const Plan &plan, Objects *objects) {
    Device &home = *plan.lanes[0];
    if (exec.lanes.empty()) exec.lanes.push_back({&home, nullptr});
    if (!exec.done) {
        Error error =
            home.driver().event_create(home.index, infinirtEventDisableTiming, &exec.done);
        if (error != infinirtSuccess)
            return call.driver(error, "the device did not make an event for the end of the graph");
    }
    Cursors next_lane{{&home, 1}}, next_event;  // lane 0 is taken
    size_t chosen = 0;
    objects->lanes.push_back(0);
    for (size_t lane = 1; lane < plan.lanes.size(); ++lane) {
        if (Error error = choose_stream(call, exec, *plan.lanes[lane], next_lane, &chosen))
            return error;
        objects->lanes.push_back(static_cast<uint32_t>(chosen));
    }
    for (const LaneStep &step : plan.steps) {
        if (!step.recorded) continue;
        if (Error error = choose_event(call, exec, *plan.lanes[step.lane], next_event, &chosen))
            return error;
        objects->events.push_back(chosen);
    }
    return infinirtSuccess;
}

InfiniWork event_work(InfiniWorkKind kind, void *event) {
    InfiniWork work;
    work.kind = kind;
    work.as.event = event;
    return work;
}

InfiniWork work_of(const Node &node) {
    if (node.type == infinirtGraphNodeTypeEventRecord)
        return event_work(INFINI_WORK_RECORD, event_use(node).driver);
    if (node.type == infinirtGraphNodeTypeWaitEvent)
        return event_work(INFINI_WORK_WAIT, event_use(node).driver);
    return node.work;
}

// Puts the steps into segments. A wait refers to the last record submitted before it, so when a
// step waits for another lane, that lane's steps so far become a segment, which is submitted first.
class SegmentBuilder {
public:
    SegmentBuilder(const Plan &plan, const Objects &objects, const Exec &exec)
        : plan_(plan),
          lanes_(objects.lanes),
          open_(plan.lanes.size()),
          event_of_(plan.steps.size()) {
        size_t next = 0;
        for (size_t i = 0; i < plan.steps.size(); ++i)
            if (plan.steps[i].recorded) event_of_[i] = exec.events[objects.events[next++]].event;
        for (size_t i = 0; i < plan.steps.size(); ++i) add(i, exec.done);
        flush(0);
    }

    Program take() { return std::move(program_); }

private:
    struct Open {
        std::vector<InfiniWork> work;
        std::vector<std::pair<Node *, size_t>> nodes;  // and where their work is in `work`
        uint32_t submitted = 0;                        // steps of the lane in earlier segments
        uint32_t last = 0;
    };

    void add(size_t index, void *done) {
        const LaneStep &step = plan_.steps[index];
        Open &lane = open_[step.lane];
        for (size_t other : step.waits) {
            const LaneStep &before = plan_.steps[other];
            if (before.place > open_[before.lane].submitted) flush(before.lane);
            lane.work.push_back(event_work(INFINI_WORK_WAIT, event_of_[other]));
        }
        if (step.node) {
            lane.nodes.emplace_back(step.node, lane.work.size());
            lane.work.push_back(work_of(*step.node));
        } else {
            lane.work.push_back(
                event_work(index == 0 ? INFINI_WORK_WAIT : INFINI_WORK_RECORD, done));
        }
        if (step.recorded) lane.work.push_back(event_work(INFINI_WORK_RECORD, event_of_[index]));
        lane.last = step.place;
    }

    void flush(uint32_t which) {
        Open &lane = open_[which];
        size_t begin = program_.work.size();
        program_.work.insert(program_.work.end(), lane.work.begin(), lane.work.end());
        program_.segments.push_back({lanes_[which], begin, program_.work.size()});
        for (auto [node, offset] : lane.nodes) node->position = begin + offset;
        lane.work.clear();
        lane.nodes.clear();
        lane.submitted = lane.last;
    }

    const Plan &plan_;
    const std::vector<uint32_t> &lanes_;
    std::vector<Open> open_;
    std::vector<void *> event_of_;  // by step
    Program program_;
};

void forget_positions(const Graph &graph) {
    for (Node *node : graph.nodes) {
        node->position = Node::kNowhere;
        if (node->child) forget_positions(*node->child);
    }
}

}  // namespace

Error compile(Call &call, Exec &exec) {
    Plan plan = plan_lanes(*exec.graph, call.device());
    Objects objects;
    if (Error error = choose_objects(call, exec, plan, &objects)) return error;
    exec.home = plan.lanes[0];
    forget_positions(*exec.graph);
    exec.program = SegmentBuilder(plan, objects, exec).take();
    exec.event_uses = std::move(plan.events);
    exec.memory_use = memory_use(*exec.graph);
    return infinirtSuccess;
}

void destroy_driver_objects(Exec &exec) {
    for (const Lane &lane : exec.lanes)
        if (lane.stream) lane.device->driver().stream_destroy(lane.device->index, lane.stream);
    for (const auto *list : {&exec.events, &exec.starts})
        for (const DriverEvent &each : *list)
            each.device->driver().event_destroy(each.device->index, each.event);
    if (exec.done) {
        Device *device = exec.lanes[0].device;
        device->driver().event_destroy(device->index, exec.done);
    }
    exec.lanes.clear();
    exec.events.clear();
    exec.starts.clear();
    exec.done = nullptr;
}

}  // namespace infini::rt
