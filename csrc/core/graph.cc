// Graphs: from a record to something that runs.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph_state.h"
#include "layout.h"
#include "profiler.h"

namespace infinicore::graph {

using detail::DeviceRuntime;
using detail::Location;
using detail::Node;
using detail::OpenMemory;

namespace {

constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// How many holders each memory has inside the record. A higher use count means that code outside
// holds it.
std::unordered_map<Memory *, long> count_holders(const std::vector<Node> &nodes) {
    std::unordered_map<Memory *, long> counts;
    for (const Node &node : nodes)
        for (const Location &place : node.locations)
            if (place.memory) ++counts[place.memory.get()];
    return counts;
}

OpenMemory *open_memory(Memory *memory) {
    auto *open = dynamic_cast<OpenMemory *>(memory);
    return open && !open->is_placed() ? open : nullptr;
}

struct Life {
    OpenMemory *memory;
    size_t first, last;  // nodes that use it
    size_t offset = 0;
};

// Offsets so that memories alive at the same time do not overlap; returns the bytes needed. The
// greatest are placed first, each at the lowest offset that is free during its life.
size_t assign_offsets(std::vector<Life> &lives) {
    std::sort(lives.begin(), lives.end(), [](const Life &a, const Life &b) {
        return std::pair(b.memory->size(), a.first) < std::pair(a.memory->size(), b.first);
    });
    size_t needed = 0;
    std::vector<const Life *> placed;  // by offset
    for (Life &life : lives) {
        const size_t bytes = aligned(life.memory->size());
        size_t offset = 0;
        for (const Life *other : placed) {
            if (other->last < life.first || life.last < other->first) continue;
            if (offset + bytes <= other->offset) break;
            offset = std::max(offset, other->offset + aligned(other->memory->size()));
        }
        life.offset = offset;
        needed = std::max(needed, offset + bytes);
        placed.insert(
            std::upper_bound(placed.begin(), placed.end(), &life,
                             [](const Life *a, const Life *b) { return a->offset < b->offset; }),
            &life);
    }
    return needed;
}

Tensor tensor_named(const char *function, const std::vector<NamedTensor> &tensors,
                    const std::string &name) {
    std::string known;
    for (const NamedTensor &each : tensors) {
        if (each.name == name) return each.tensor;
        known += (known.empty() ? "" : ", ") + each.name;
    }
    detail::fail(function, "the graph has no " + name + ": expected one of " + known);
}

// The tensor that a step of the graph sees.
Tensor tensor_at(const Node &node, size_t place) {
    const int index = node.step->arguments[place].tensor;
    const auto &[memory, offset] = node.locations[place];
    if (index < 0)
        return Tensor(std::make_shared<TensorImpl>(Shape{memory->size() - offset}, Strides{1},
                                                   DataType::BYTE, TensorData{offset, memory}));
    const detail::Layout &layout = node.step->tensors[size_t(index)];
    return Tensor(
        std::make_shared<TensorImpl>(Shape(layout.shape.begin(), layout.shape.end()),
                                     Strides(layout.strides.begin(), layout.strides.end()),
                                     layout.dtype, TensorData{offset, memory}));
}

}  // namespace

GraphTensor::GraphTensor(const Tensor &tensor) : Tensor(tensor->to_blob_()) {
    // Its operator does not hold the memory; the graph does.
    if (detail::Recorder *recorder = detail::recorded_graph())
        recorder->kept.push_back(tensor->memory());
}

Graph::Graph() : state_(std::make_unique<State>()) {}
Graph::~Graph() = default;
void Graph::run() const { state_->run(); }
const std::vector<NamedTensor> &Graph::inputs() const { return state_->inputs; }
const std::vector<NamedTensor> &Graph::outputs() const { return state_->outputs; }
Tensor Graph::input(const std::string &name) const {
    return tensor_named("Graph::input", state_->inputs, name);
}
Tensor Graph::output(const std::string &name) const {
    return tensor_named("Graph::output", state_->outputs, name);
}

void Graph::State::build(detail::Recorder recorder) {
    const detail::ModesScope modes(recorder.modes);
    recording_ = recorder.number;
    recorded = std::move(recorder.nodes);
    constants = std::move(recorder.constants);
    kept_ = std::move(recorder.kept);
    find_inputs(recorder.given);
    // A client's own work may use any memory, so lifetimes are then unknown.
    const bool foreign = std::any_of(recorded.begin(), recorded.end(),
                                     [](const Node &node) { return node.foreign != nullptr; });
    std::unordered_set<const Memory *> needed;
    std::vector<std::shared_ptr<Memory>> inside;
    const auto counts = count_holders(recorded);
    std::vector<Memory *> results;
    std::unordered_set<const Memory *> seen;
    for (const Node &node : recorded)
        for (const Location &place : node.locations) {
            if (!place.memory || !seen.insert(place.memory.get()).second) continue;
            if (!is_own(place.memory.get())) {
                needed.insert(place.memory.get());
            } else if (foreign || place.memory.use_count() > counts.at(place.memory.get())) {
                needed.insert(place.memory.get());
                results.push_back(place.memory.get());
                static_cast<OpenMemory &>(*place.memory).has_run = has_run_;
                place.memory->data();  // its place, for as long as it lives
            } else {
                inside.push_back(place.memory);
            }
        }
    find_outputs(recorder.made, results);
    nodes = detail::fuse(recorded, [&](const Memory *memory) { return needed.contains(memory); });
    place_memory(inside);
    instantiate();
}

bool Graph::State::is_own(const Memory *memory) const {
    const auto *open = dynamic_cast<const OpenMemory *>(memory);
    return open && open->recording == recording_;
}

void Graph::State::find_inputs(const std::vector<Tensor> &given) {
    std::unordered_set<const Memory *> known;  // made by the graph, a number, or an input already
    for (const auto &memory : constants) known.insert(memory.get());
    for (const Node &node : recorded) {
        for (size_t p = 0; p < node.locations.size(); ++p) {
            const std::shared_ptr<Memory> &memory = node.locations[p].memory;
            const detail::Step::Argument &argument = node.step->arguments[p];
            if (!memory || argument.tensor < 0 || argument.written || is_own(memory.get()) ||
                !known.insert(memory.get()).second)
                continue;
            const size_t before = inputs.size();
            for (const Tensor &tensor : given)
                if (tensor->memory() == memory) inputs.push_back({{}, tensor});
            if (inputs.size() == before) inputs.push_back({{}, tensor_at(node, p)});
        }
        for (size_t p = 0; p < node.locations.size(); ++p)
            if (node.step->arguments[p].written) known.insert(node.locations[p].memory.get());
    }
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].name = "input" + std::to_string(i);
}

void Graph::State::rename(std::vector<NamedTensor> &tensors, const Names &given) {
    std::lock_guard lock(naming);
    std::vector<bool> is_given(tensors.size());
    for (const auto &[tensor, name] : given)
        for (size_t i = 0; i < tensors.size(); ++i)
            if (tensors[i].tensor.impl().get() == tensor)
                tensors[i].name = name, is_given[i] = true;
    std::set<std::string> taken;
    for (bool of_given : {true, false})
        for (size_t i = 0; i < tensors.size(); ++i) {
            if (is_given[i] != of_given) continue;
            const std::string name = tensors[i].name;
            for (int number = 2; !taken.insert(tensors[i].name).second; ++number)
                tensors[i].name = name + "_" + std::to_string(number);
        }
}

void Graph::State::find_outputs(const std::vector<std::weak_ptr<TensorImpl>> &made,
                                const std::vector<Memory *> &results) {
    std::unordered_set<const Memory *> left(results.begin(), results.end());
    for (const std::weak_ptr<TensorImpl> &each : made)
        if (std::shared_ptr<TensorImpl> tensor = each.lock();
            tensor &&
            std::find(results.begin(), results.end(), tensor->memory().get()) != results.end()) {
            left.erase(tensor->memory().get());
            outputs.push_back({{}, Tensor(std::move(tensor))});
        }
    // Tensors that a C++ client holds, as seen by the last step that writes them, and the client's
    // tensors that the graph only writes.
    const auto known = std::ptrdiff_t(outputs.size());
    std::unordered_set<const Memory *> listed;
    for (const NamedTensor &input : inputs) listed.insert(input.tensor->memory().get());
    for (size_t n = recorded.size(); n-- > 0;)
        for (size_t p = 0; p < recorded[n].locations.size(); ++p) {
            const Memory *memory = recorded[n].locations[p].memory.get();
            if (!memory || !recorded[n].step->arguments[p].written) continue;
            if (is_own(memory) ? left.erase(memory) : listed.insert(memory).second)
                outputs.push_back({{}, tensor_at(recorded[n], p)});
        }
    std::reverse(outputs.begin() + known, outputs.end());
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].name = "output" + std::to_string(i);
}

void Graph::State::place_memory(const std::vector<std::shared_ptr<Memory>> &inside) {
    std::unordered_map<Memory *, Life> lives;
    std::map<DeviceRuntime *, size_t> workspaces;
    for (size_t i = 0; i < nodes.size(); ++i) {
        for (const Location &place : nodes[i].locations)
            if (OpenMemory *open = place.memory ? open_memory(place.memory.get()) : nullptr)
                lives.try_emplace(open, Life{open, i, i}).first->second.last = i;
        if (nodes[i].step) {
            size_t &most = workspaces[nodes[i].step->runtime];
            most = std::max(most, nodes[i].step->workspace);
        }
    }
    std::unordered_map<Memory *, std::shared_ptr<Memory>> owners;
    for (const auto &memory : inside) owners[memory.get()] = memory;
    std::map<DeviceRuntime *, void *> workspace_at;
    for (auto &[runtime, workspace] : workspaces) {
        std::vector<Life> here;
        for (auto &[memory, life] : lives)
            if (life.memory->device() == runtime->device) here.push_back(life);
        const size_t bytes = assign_offsets(here);
        for (const Life &life : here) unshared_bytes += aligned(life.memory->size());
        arena_bytes += bytes + workspace;
        if (bytes + workspace == 0) continue;
        const infinirtStream_t stream = stream_of(*runtime);
        auto arena = runtime->allocator.allocate(bytes + workspace, stream);
        for (const Life &life : here) life.memory->put(arena, life.offset);
        if (workspace) workspace_at[runtime] = arena->data() + bytes;
        arenas_.push_back({std::move(arena), runtime, stream});
    }
    for (const Node &node : nodes) {
        Launch &launch = launches_.emplace_back();
        launch.foreign = node.foreign.get();
        if (!node.step) continue;
        launch.step = node.step.get();
        if (node.step->workspace) launch.workspace = workspace_at.at(node.step->runtime);
        for (const Location &place : node.locations)
            launch.pointers.push_back(place.memory ? place.memory->data() + place.offset : nullptr);
    }
}

// ---- Running ------------------------------------------------------------------------------------

void Graph::State::instantiate() {
    for (size_t i = 0; i < launches_.size(); ++i) {
        const Launch &launch = launches_[i];
        DeviceRuntime *runtime = launch.step ? launch.step->runtime : nullptr;
        // Each run draws new random numbers, which a captured launch cannot do.
        const bool capturable = launch.step
                                    ? !launch.step->is(detail::kRandom) && !launch.step->is_across
                                    : launch.foreign->is_device_graph_capture_safe();
        if (!launch.step && capturable) runtime = &detail::current_runtime();
        DeviceRuntime *of = capturable ? runtime : nullptr;
        if (segments_.empty() || segments_.back().runtime != of)
            segments_.push_back({i, i, of, nullptr, {}});
        segments_.back().end = i + 1;
    }
    for (Segment &segment : segments_) {
        const auto begin = launches_.begin() + std::ptrdiff_t(segment.begin);
        const auto end = launches_.begin() + std::ptrdiff_t(segment.end);
        const bool calls_python =
            std::any_of(begin, end, [](const Launch &l) { return l.step && l.step->is_python; });
        const size_t count = size_t(end - begin) + calls_python;
        if (!segment.runtime || !detail::has_device_graphs(*segment.runtime, count)) continue;
        try {
            for (auto each = begin; each != end; ++each)
                if (each->step) each->step->prepare();
        } catch (const std::exception &error) {
            segment.reason = error.what();  // running it reports that
            continue;
        }
        auto work = [&] {
            for (size_t i = segment.begin; i < segment.end; ++i) perform(launches_[i]);
        };
        segment.captured = detail::DeviceGraph::capture(*segment.runtime, work, segment.reason);
    }
}

void Graph::State::perform(const Launch &launch) {
    if (!launch.step) return launch.foreign->run();
    launch.step->launch(launch.pointers.data(), launch.workspace, stream_of(*launch.step->runtime));
}

void Graph::State::run() {
    if (detail::thread_state().recorder)
        throw std::runtime_error(
            "Graph::run: this thread is recording a graph: a graph can't be part of another");
    has_run_->store(true, std::memory_order_relaxed);
    const bool is_placed = !launches_.empty() && launches_.front().step;
    detail::ProfiledScope profiled(
        "graph replay", is_placed ? *launches_.front().step->runtime : detail::current_runtime(),
        0);
    copy_host_arrays();
    for (const Arena &arena : arenas_)
        if (infinirtStream_t stream = stream_of(*arena.runtime); stream != arena.stream)
            detail::Allocator::record_stream(*arena.memory, stream);
    for (const Segment &segment : segments_) {
        if (segment.captured) {
            segment.captured->launch();
            continue;
        }
        for (size_t i = segment.begin; i < segment.end; ++i) perform(launches_[i]);
    }
}

void Graph::State::run_node(size_t index) {
    if (index == 0) copy_host_arrays();
    perform(launches_.at(index));
    has_run_->store(true, std::memory_order_relaxed);
}

}  // namespace infinicore::graph
