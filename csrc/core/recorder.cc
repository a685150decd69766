#include "recorder.h"

#include <atomic>
#include <stdexcept>

#include "graph_state.h"

namespace infinicore {
namespace detail {

void OpenMemory::put(std::shared_ptr<Memory> at, size_t offset) {
    data_ = at->data() + offset;
    home_ = std::move(at);
}

void OpenMemory::place() {
    if (traced)
        throw std::runtime_error(
            "a value was asked for where only layouts are known: in a function that is traced, "
            "results depend on shapes and arguments, not on data");
    DeviceRuntime &runtime = runtime_of(device_);
    put(runtime.allocator.allocate(size_, stream_of(runtime)), 0);
}

namespace {
std::atomic<uint64_t> recordings{0};
}

std::atomic<int> RecorderCount::total{0};

Recorder::Recorder(bool traced) : traced(traced), number(++recordings) {}

std::shared_ptr<Memory> Recorder::allocate(size_t bytes, const Device &device) {
    return std::make_shared<OpenMemory>(bytes, device, OpenMemory::Role::Result, -1, traced,
                                        number);
}

void Recorder::note_given(const Tensor &tensor) {
    if (known_.insert(tensor.impl().get()).second) given.push_back(tensor);
}

void Recorder::note_made(const Tensor &tensor) {
    if (known_.insert(tensor.impl().get()).second) made.push_back(tensor.impl());
}

std::shared_ptr<Memory> new_memory(DeviceRuntime &runtime, size_t bytes) {
    if (Recorder *recorder = thread_state().recorder) [[unlikely]]
        return recorder->allocate(bytes, runtime.device);
    return runtime.allocator.allocate(bytes, stream_of(runtime));
}

Recorder *recorder_of_thread() {
    Recorder *recorder = thread_state().recorder;
    return recorder && !recorder->traced ? recorder : nullptr;
}

namespace {

// Ends a recording; the caller has the recorder.
std::unique_ptr<Recorder> take_recorder(const char *function) {
    ThreadState &thread = thread_state();
    if (!thread.recorder || thread.recorder->traced)
        throw std::runtime_error(std::string(function) + ": this thread is not recording a graph");
    return std::unique_ptr<Recorder>(std::exchange(thread.recorder, nullptr));
}

}  // namespace
}  // namespace detail

namespace context {

bool isGraphRecording() { return detail::recorded_graph() != nullptr; }

void startGraphRecording() {
    detail::ThreadState &thread = detail::thread_state();
    if (thread.recorder)
        throw std::runtime_error("startGraphRecording: this thread is recording a graph already");
    detail::current_runtime();  // a device that cannot be used is reported here
    thread.recorder = new detail::Recorder(false);
}

void addGraphOperator(std::shared_ptr<graph::GraphOperator> op) {
    if (!op) throw std::runtime_error("addGraphOperator: op is null: expected an operator");
    detail::Recorder *recorder = detail::recorded_graph();
    if (!recorder)
        throw std::runtime_error("addGraphOperator: this thread is not recording a graph");
    recorder->nodes.push_back({nullptr, {}, std::move(op)});
}

std::shared_ptr<graph::Graph> stopGraphRecording() {
    auto recorder = detail::take_recorder("stopGraphRecording");
    auto made = std::make_shared<graph::Graph>();
    made->state().build(std::move(*recorder));
    return made;
}

void cancelGraphRecording() { detail::take_recorder("cancelGraphRecording"); }

}  // namespace context
}  // namespace infinicore
