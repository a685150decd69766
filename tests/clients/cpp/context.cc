// infinicore's context, included by the first generation's path: its declarations, event flags, and
// handles without a tensor.
#include <cstdio>
#include <functional>
#include <infinicore/context/context.hpp>
#include <infinicore/tensor.hpp>
#include <stdexcept>
#include <string>

using namespace infinicore;

static bool throws(const std::function<void()> &call, const std::string &text) {
    try {
        call();
    } catch (const std::runtime_error &error) {
        return std::string(error.what()).find(text) != std::string::npos;
    }
    return false;
}

// Events without timing have no elapsed time.
static bool is_timed(infinirtEvent_t event) {
    infinirtEvent_t start = context::createEvent();
    context::recordEvent(start);
    context::recordEvent(event);
    context::synchronizeEvent(event);
    bool timed = true;
    try {
        context::elapsedTime(start, event);
    } catch (const std::runtime_error &) {
        timed = false;
    }
    context::destroyEvent(start);
    context::destroyEvent(event);
    return timed;
}

int main() {
    context::setDevice(Device::cpu());
    if (context::getDeviceCount(Device::Type::CPU) < 1) return 1;
    std::shared_ptr<Memory> memory = context::allocateMemory(64);
    if (memory->size() != 64 || memory->device() != Device::cpu()) return 2;

    // CUDA's numbers: cudaEventBlockingSync is 1, cudaEventDisableTiming 2.
    if (context::EVENT_BLOCKING_SYNC != 1 || context::EVENT_DISABLE_TIMING != 2) return 3;
    if (!is_timed(context::createEventWithFlags(0)) || !is_timed(context::createEventWithFlags(1)))
        return 4;
    if (is_timed(context::createEventWithFlags(2)) || is_timed(context::createEventWithFlags(3)))
        return 5;
    if (is_timed(context::createEventWithFlags(context::EVENT_DISABLE_TIMING))) return 6;
    // The enumerators of infinirt.h have other values, but the same meaning.
    if (is_timed(context::createEventWithFlags(INFINIRT_EVENT_DISABLE_TIMING))) return 7;
    if (!is_timed(context::createEventWithFlags(INFINIRT_EVENT_BLOCKING_SYNC))) return 8;
    if (!throws([] { context::createEventWithFlags(8); }, "EVENT_DISABLE_TIMING (2)")) return 9;

    Tensor none;
    if (none || !none.empty()) return 10;
    if (!throws([&] { none->shape(); }, "holds no tensor")) return 11;
    if (!throws([&] { (*none).numel(); }, "holds no tensor")) return 12;
    Tensor zeros = Tensor::zeros({2}, DataType::F32, Device::cpu());
    if (!throws([&] { zeros->copy_from(none); }, "copy_from: ")) return 13;
    if (!throws([&] { graph::GraphTensor held(none); }, "holds no tensor")) return 14;
    zeros.reset();
    if (!throws([&] { zeros->data(); }, "holds no tensor")) return 15;

    context::startGraphRecording();
    std::shared_ptr<graph::Graph> graph = context::stopGraphRecording();
    graph->run();
    std::puts("ok");
}
