#include "kernels/dnn/plan.h"

#include <algorithm>

#include "compile/compiler.h"

namespace infini::cuda::dnn {
namespace {

struct Request {
    const std::vector<void *> &operations;
    const Limits &limits;
};

// Engines in the order of the library's heuristics, with their settings.
std::vector<Object> configurations(const Object &graph, HeuristicMode mode) {
    constexpr size_t kMost = 64;
    Object heuristics(kHeuristics);
    heuristics.put(kHeuristicsGraph, graph);
    heuristics.put(kHeuristicsMode, kOfHeuristicMode, mode);
    heuristics.finish();
    std::vector<Object> results;
    std::vector<void *> handles;
    for (size_t i = 0; i < kMost; ++i)
        handles.push_back(results.emplace_back(kEngineConfiguration).handle());
    int64_t count = 0;
    check(library().get(heuristics.handle(), kHeuristicsResults, kOfObject, kMost, &count,
                        handles.data()),
          "a graph");
    results.erase(results.begin() + std::clamp<int64_t>(count, 0, kMost), results.end());
    return results;
}

bool has(const std::vector<int> &notes, int note) {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
}

// The first plan within the limits, and what it was made of. Empty if it has to be compiled, unless
// `compiles`.
std::vector<Object> first_plan(const Request &request, void *handle, bool compiles) {
    Object graph(kOperationGraph);
    graph.put(kGraphHandle, kOfHandle, 1, &handle);
    graph.put(kGraphOperations, kOfObject, int64_t(request.operations.size()),
              request.operations.data());
    graph.finish();
    const Limits &limits = request.limits;
    for (HeuristicMode mode : {kModeA, kFallback}) {
        if (mode == kFallback && !limits.fallback) break;
        for (Object &configuration : configurations(graph, mode)) {
            try {
                Object engine(kEngineObject);
                engine.fetch(configuration, kConfigurationEngine);
                const auto notes = engine.numbers(kEngineNumericalNotes, kOfNumericalNote);
                if (has(notes, kVaries)) continue;
                if (!limits.tensor_cores &&
                    (has(notes, kUsesTensorCores) || has(notes, kConvertsInputs)))
                    continue;
                const auto behavior = engine.numbers(kEngineBehaviorNotes, kOfBehaviorNote);
                if (!compiles && has(behavior, kIsCompiled)) return {};
                Object plan(kPlan);
                plan.put(kPlanHandle, kOfHandle, 1, &handle);
                plan.put(kPlanConfiguration, configuration);
                plan.finish();
                if (size_t(plan.integer(kPlanWorkspace)) > limits.workspace) continue;
                std::vector<Object> made;
                made.push_back(std::move(plan));
                made.push_back(std::move(configuration));
                made.push_back(std::move(graph));
                return made;
            } catch (const Declined &) {  // the next one may be supported
            }
        }
    }
    throw Declined{"a graph: it has no engine for it"};
}

std::vector<Object> restore(const std::vector<char> &text, Session &session) {
    std::lock_guard guard(session.lock);
    Object plan(kPlan);
    plan.put(kPlanHandle, kOfHandle, 1, &session.handle);
    plan.put(kPlanText, kOfCharacter, int64_t(text.size()), text.data());
    plan.finish();
    std::vector<Object> made;
    made.push_back(std::move(plan));
    return made;
}

}  // namespace

// Engines that are compiled are serialized, because another handle runs them, and cached on disk.
// The others are ready in some milliseconds.
std::vector<Object> make_plan_of(const std::vector<void *> &operations, const std::string &text,
                                 const Limits &limits, Session &session) {
    const Device &device = Device::get(session.device);
    const std::string facts =
        "plan 2 of the library of primitives\n" + std::to_string(library().version()) + " " +
        std::to_string(driver_version()) + " " + std::to_string(device.major) + "." +
        std::to_string(device.minor) + " " + std::to_string(device.multiprocessors) + " " +
        std::to_string(limits.workspace) + " " + std::to_string(limits.tensor_cores) +
        std::to_string(limits.fallback) + "\n";
    const Key key = key_of(facts + text);
    const Request request{operations, limits};
    Making making(session, key.hex());
    std::vector<char> stored;
    if (Cache::get().load(key, stored)) {
        try {
            return restore(stored, session);
        } catch (const Declined &) {  // possibly from another machine
        }
    }
    {
        std::lock_guard guard(session.lock);
        auto plan = first_plan(request, session.handle, false);
        if (!plan.empty()) return plan;
    }
    const std::string made = first_plan(request, making.handle(), true)[0].text(kPlanText);
    stored.assign(made.begin(), made.end());
    Cache::get().store(key, stored);
    return restore(stored, session);
}

}  // namespace infini::cuda::dnn
