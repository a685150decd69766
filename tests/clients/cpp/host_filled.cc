// A tensor that the host has filled is copied to another CPU without waiting for the first one's
// stream. Ranks in one process, whose collectives wait for each other, rely on this.
#include <unistd.h>

#include <cstdio>
#include <future>
#include <infinicore.hpp>
#include <vector>

using namespace infinicore;

// From the CUDA-aligned API, whose header cannot be included together with infinicore's.
extern "C" int infinirtLaunchHostFunc(void *stream, void (*function)(void *), void *data);

static void wait_for(void *gate) { static_cast<std::promise<void> *>(gate)->get_future().wait(); }

int main() {
    alarm(60);  // ends a copy that waits
    const Device first(Device::Type::CPU, 0), second(Device::Type::CPU, 1);
    std::vector<int32_t> values{1, 2, 3, 4};
    const Tensor filled = Tensor::from_blob(values.data(), {4}, DataType::I32, first);

    std::promise<void> gate;
    context::setDevice(first);
    if (infinirtLaunchHostFunc(context::getStream(), wait_for, &gate) != 0) return 1;

    // The host reads it, as an engine reads sequence lengths.
    if (reinterpret_cast<const int32_t *>(filled->to(first)->data())[3] != 4) return 1;
    const Tensor copied = filled->to(second);
    context::setDevice(second);
    context::syncStream();
    if (reinterpret_cast<const int32_t *>(copied->data())[3] != 4) return 1;

    gate.set_value();
    context::setDevice(first);
    context::syncStream();
    std::puts("ok");
}
