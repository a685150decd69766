// infinicore's C++ interface with two device types: the CPU and the sample back end.
#include <infini/ext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <infinicore.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace infinicore;

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) {                                               \
            std::printf("line %d: %s failed: %s\n", __LINE__, #condition, \
                        infiniGetLastErrorMessage());                     \
            std::exit(1);                                                 \
        }                                                                 \
    } while (0)

static bool direct_calls_agree(Device device) {
    infiniDevice_t type;
    int index;
    infinirtGetDevice(&type, &index);
    return int(type) == int(device.getType()) && size_t(index) == device.getIndex();
}

static std::vector<int> numbers(size_t count) {
    std::vector<int> made(count);
    std::iota(made.begin(), made.end(), 1);
    return made;
}

static bool same(const Tensor &tensor, const std::vector<int> &expected) {
    Tensor host = tensor->to(Device::cpu());
    return std::memcmp(host->data(), expected.data(), expected.size() * sizeof(int)) == 0;
}

int main() {
    // A thread starts on the accelerator.
    Device first = context::getDevice(), second(first.getType(), 1), cpu;
    CHECK(first.toString() == "SAMPLE:0");
    CHECK(context::getDeviceCount(first.getType()) == 2);
    CHECK(direct_calls_agree(first));
    CHECK(context::getStream() != nullptr);
    CHECK(context::getInfiniopHandle(first) != context::getInfiniopHandle(cpu));
    std::thread([&] {
        CHECK(context::getDevice() == first);
        context::setDevice(cpu);
    }).join();
    CHECK(context::getDevice() == first);
    context::setDevice(second);
    CHECK(direct_calls_agree(second));
    context::setDevice(first);

    // Copies of bytes, also in memory of the other device type.
    std::vector<int> some = numbers(1000), back(1000);
    size_t bytes = 4000;
    auto there = context::allocateMemory(bytes), also = context::allocateMemory(bytes);
    auto host = context::allocateHostMemory(bytes),
         pinned = context::allocatePinnedHostMemory(bytes);
    CHECK(there->device() == first && host->device() == cpu && pinned->is_pinned());
    context::memcpyH2D(there->data(), some.data(), bytes);
    context::memcpyD2D(also->data(), there->data(), bytes);
    context::memcpyD2H(back.data(), also->data(), bytes);
    CHECK(back == some);
    context::memcpyD2H(host->data(), also->data(), bytes);
    context::setDeviceMemory(also->data(), 0, bytes);
    context::memcpyH2D(also->data(), host->data(), bytes);
    context::memcpyD2H(pinned->data(), also->data(), bytes);
    CHECK(std::memcmp(pinned->data(), some.data(), bytes) == 0);
    CHECK(context::memoryStats(first).allocated >= 2 * bytes);

    // Tensors: every pair of devices, small ones and ones copied in many chunks.
    for (size_t count : {size_t{10}, size_t{20} << 20}) {
        std::vector<int> values = numbers(count);
        Tensor blob = Tensor::from_blob(values.data(), {count}, DataType::I32, cpu);
        Tensor last = blob;
        for (Device device : {first, second, cpu, second, first, first, cpu}) {
            last = last->to(device);
            CHECK(last->device() == device);
        }
        CHECK(same(last, values));
        Tensor locked = Tensor::empty({count}, DataType::I32, cpu, true);
        locked->copy_from(blob->to(second));
        CHECK(same(locked->to(first), values));
    }
    Tensor square = Tensor::from_blob(some.data(), {10, 100}, DataType::I32, cpu);
    Tensor turned = square->permute({1, 0})->to(first);
    CHECK(turned->is_contiguous() && same(turned, [&] {
              std::vector<int> expected;
              for (int i = 0; i < 100; ++i)
                  for (int j = 0; j < 10; ++j) expected.push_back(j * 100 + i + 1);
              return expected;
          }()));
    CHECK(same(Tensor::zeros({7}, DataType::I32, second), std::vector<int>(7)));
    Tensor column = Tensor::zeros({10, 100}, DataType::I32, cpu);
    column->narrow({{1, 3, 10}})->copy_from(turned->view({100, 10})->narrow({{0, 0, 10}}));
    CHECK(reinterpret_cast<int *>(column->data())[103] == 2);

    // The device has no operators, which is reported.
    std::string said;
    try {
        turned->permute({1, 0})->contiguous();
    } catch (const std::runtime_error &error) {
        said = error.what();
    }
    CHECK(said.find("earrange") != std::string::npos);

    // Events belong to their device, whatever the thread's is.
    context::setDevice(cpu);
    DeviceEvent start(second), end(second), other(first);
    start.record();
    end.record();
    other.record();
    end.synchronize();
    CHECK(start.elapsed_time(end) >= 0);
    try {
        start.elapsed_time(other);
        CHECK(false);
    } catch (const std::runtime_error &error) {
        CHECK(std::string(error.what()).find("SAMPLE:1 and SAMPLE:0") != std::string::npos);
    }
    end.wait();
    CHECK(context::getDevice() == cpu && direct_calls_agree(cpu));

    there.reset(), also.reset(), turned.reset();
    context::setDevice(first);
    context::trimMemory();
    CHECK(context::memoryStats(first).reserved == 0);
    std::printf("ok\n");
}
