#include "graph_lanes.h"

#include <algorithm>

namespace infini::rt {
namespace {

// More branches than this share lanes; a device gets its first lane in any case.
constexpr size_t kMostLanes = 32;

// The progress of each lane; lanes that are not mentioned have not begun.
using Frontier = std::vector<uint32_t>;

uint32_t at(const Frontier &frontier, size_t lane) {
    return lane < frontier.size() ? frontier[lane] : 0;
}

void merge(Frontier &into, const Frontier &other) {
    if (into.size() < other.size()) into.resize(other.size());
    for (size_t lane = 0; lane < other.size(); ++lane)
        into[lane] = std::max(into[lane], other[lane]);
}

// The work that must finish before a node may run is kept as a frontier. Nodes without work of
// their own (empty, disabled, memory, child graphs) are nothing but a frontier, so they cost
// nothing in a launch.
class Planner {
public:
    explicit Planner(Device &home) {
        plan_.lanes.push_back(&home);
        frontiers_.push_back({1});
        add_step(nullptr, 0, {1});
    }

    Plan finish(size_t frontier) {
        place(nullptr, 0, frontier);
        return std::move(plan_);
    }

    // Returns the frontier after the graph. `entry` is the one before it.
    size_t walk(const Graph &graph, size_t entry) {
        std::vector<Node *> order = topological_order(graph);
        std::vector<size_t> behind(order.size());  // frontier after each node, by its mark
        size_t exit = add_frontier(frontiers_[entry]);
        for (Node *node : order) {
            size_t before = entry;
            if (node->dependencies.size() == 1) {
                before = behind[node->dependencies[0]->mark];
            } else if (!node->dependencies.empty()) {
                Frontier all;
                for (Node *earlier : node->dependencies)
                    merge(all, frontiers_[behind[earlier->mark]]);
                before = add_frontier(std::move(all));
            }
            behind[node->mark] = visit(*node, before);
            if (node->dependents.empty()) merge(frontiers_[exit], frontiers_[behind[node->mark]]);
        }
        return exit;
    }

private:
    size_t visit(Node &node, size_t before) {
        switch (node.type) {
            case infinirtGraphNodeTypeGraph:
                return walk(*node.child, before);
            case infinirtGraphNodeTypeMemAlloc:
            case infinirtGraphNodeTypeMemFree:
            case infinirtGraphNodeTypeEmpty:
                break;
            case infinirtGraphNodeTypeEventRecord:
            case infinirtGraphNodeTypeWaitEvent:
                plan_.events.push_back(event_use(node));
                [[fallthrough]];
            default:
                if (node.enabled) return place(&node, choose_lane(*node.device, before), before);
        }
        return before;
    }

    // A lane whose last step comes before the node anyway, so that nothing is held up; best the one
    // that did the last thing the node waits for. Lane 0 first: it is the stream of the launch.
    uint32_t choose_lane(Device &device, size_t before) {
        const Frontier &frontier = frontiers_[before];
        uint32_t best = UINT32_MAX;
        size_t newest = 0;
        for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
            if (plan_.lanes[lane] != &device || lanes_[lane].size() != at(frontier, lane)) continue;
            size_t last = lanes_[lane].back();
            bool direct = is_newest(last, frontier);
            if (best == UINT32_MAX || (direct && newest == 0)) {
                best = lane;
                newest = direct ? last + 1 : 0;
            }
        }
        if (best != UINT32_MAX) return best;
        if (lanes_.size() >= kMostLanes) {
            for (uint32_t lane = 0; lane < lanes_.size(); ++lane)
                if (plan_.lanes[lane] == &device &&
                    (best == UINT32_MAX || lanes_[lane].size() < lanes_[best].size()))
                    best = lane;
            if (best != UINT32_MAX) return best;
        }
        plan_.lanes.push_back(&device);
        lanes_.emplace_back();
        return static_cast<uint32_t>(lanes_.size() - 1);
    }

    // Whether no other lane's last necessary step follows this one.
    bool is_newest(size_t step, const Frontier &frontier) const {
        const LaneStep &mine = plan_.steps[step];
        for (size_t lane = 0; lane < frontier.size(); ++lane) {
            if (lane == mine.lane || frontier[lane] == 0) continue;
            const LaneStep &other = plan_.steps[lanes_[lane][frontier[lane] - 1]];
            if (at(frontiers_[other.frontier], mine.lane) >= mine.place) return false;
        }
        return true;
    }

    size_t place(Node *node, uint32_t lane, size_t before) {
        Frontier frontier = frontiers_[before];
        Frontier known;
        if (!lanes_[lane].empty()) known = frontiers_[plan_.steps[lanes_[lane].back()].frontier];
        // The last step of each other lane that this one needs and the lane does not know to be
        // done.
        std::vector<size_t> waits;
        for (size_t other = 0; other < frontier.size(); ++other)
            if (other != lane && frontier[other] > at(known, other))
                waits.push_back(lanes_[other][frontier[other] - 1]);
        merge(frontier, known);
        size_t step = add_step(node, lane, std::move(frontier));
        plan_.steps[step].waits = without_implied(waits);
        for (size_t other : plan_.steps[step].waits) plan_.steps[other].recorded = true;
        return plan_.steps[step].frontier;
    }

    // A wait is redundant if another awaited step follows the awaited one.
    std::vector<size_t> without_implied(const std::vector<size_t> &waits) const {
        std::vector<size_t> needed;
        for (size_t step : waits) {
            const LaneStep &mine = plan_.steps[step];
            bool implied = std::any_of(waits.begin(), waits.end(), [&](size_t other) {
                return other != step &&
                       at(frontiers_[plan_.steps[other].frontier], mine.lane) >= mine.place;
            });
            if (!implied) needed.push_back(step);
        }
        return needed;
    }

    size_t add_step(Node *node, uint32_t lane, Frontier frontier) {
        auto place = static_cast<uint32_t>(lanes_[lane].size() + 1);
        if (frontier.size() <= lane) frontier.resize(lane + 1);
        frontier[lane] = place;
        size_t step = plan_.steps.size();
        plan_.steps.push_back({node, lane, place, add_frontier(std::move(frontier)), {}});
        lanes_[lane].push_back(step);
        return step;
    }

    size_t add_frontier(Frontier frontier) {
        frontiers_.push_back(std::move(frontier));
        return frontiers_.size() - 1;
    }

    Plan plan_;
    std::vector<std::vector<size_t>> lanes_{1};  // the steps of each lane
    std::vector<Frontier> frontiers_;
};

// Where the launch stream is expected to be. Disabled nodes count, so that it stays the same.
Device *first_device(const Graph &graph) {
    for (const Node *node : topological_order(graph)) {
        if (node->child)
            if (Device *device = first_device(*node->child)) return device;
        if (node->work.kind != 0 || node->event) return node->device;
    }
    return nullptr;
}

}  // namespace

EventUse event_use(const Node &node) {
    Event *event = EventTable::get().find(node.event);
    return {&node, node.event, event ? event->driver : nullptr,
            node.type == infinirtGraphNodeTypeEventRecord};
}

Plan plan_lanes(const Graph &graph, Device &fallback) {
    Device *home = first_device(graph);
    Planner planner(home ? *home : fallback);
    return planner.finish(planner.walk(graph, 0));
}

}  // namespace infini::rt
