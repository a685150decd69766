// infinicore in C++: devices, memory, copies, events, and a graph that is recorded once and
// replayed.
#include <cmath>
#include <cstdio>
#include <infinicore.hpp>
#include <iostream>
#include <stdexcept>
#include <vector>

using namespace infinicore;

// A custom step that can be recorded: a copy in the device's stream.
class CopyBytes : public graph::GraphOperator {
public:
    CopyBytes(const Tensor &dst, const Tensor &src) : dst_(dst), src_(src) {}
    void run() const override { context::memcpyD2D(dst_->data(), src_->data(), dst_->nbytes()); }

    static void execute(const Tensor &dst, const Tensor &src) {
        INFINICORE_GRAPH_OP_RECORD_OR_RUN(CopyBytes, dst, src);
    }

private:
    graph::GraphTensor dst_, src_;  // places: the graph keeps the memory
};

static void require(bool condition, const char *what) {
    if (!condition) throw std::runtime_error(what);
}

// Computes y = silu(x) * x + bias, and a copy of it.
static void compute(const Tensor &x, const Tensor &bias, const Tensor &y, const Tensor &kept) {
    Tensor activated = Tensor::empty(x->shape(), x->dtype(), x->device());
    Tensor product = Tensor::empty(x->shape(), x->dtype(), x->device());
    op::run("silu", {activated, x});
    op::run("mul", {product, activated, x});
    op::run("add", {y, product, bias});
    CopyBytes::execute(kept, y);
}

static void fill(std::vector<float> &values, float first) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = first + float(i) / 100;
}

int main() try {
    Device device = context::getDevice();  // an accelerator, if there is one
    std::printf("device  %s, one of %zu\n", device.toString().c_str(),
                context::getDeviceCount(device.getType()));

    // Memory and copies.
    const Shape shape{4, 8};
    std::vector<float> numbers(32), result(32);
    fill(numbers, 1);
    std::shared_ptr<Memory> memory = context::allocateMemory(sizeof(float) * numbers.size());
    context::memcpyH2D(memory->data(), numbers.data(), memory->size());
    context::memcpyD2H(result.data(), memory->data(), memory->size());
    require(result == numbers, "the bytes came back changed");
    context::MemoryStats stats = context::memoryStats(device);
    std::printf("memory  %zu bytes in use, %zu from the device\n", stats.allocated, stats.reserved);

    // Tensors, and views of them.
    Tensor x = Tensor::from_blob(numbers.data(), shape, DataType::F32, Device::cpu())->to(device);
    Tensor bias = Tensor::ones(shape, DataType::F32, device);
    Tensor y = Tensor::empty(shape, DataType::F32, device),
           kept = Tensor::zeros(shape, DataType::F32, device);
    std::cout << "a view  " << x->permute({1, 0})->narrow({{0, 0, 2}})->contiguous() << "\n";

    // Recording: nothing runs yet.
    context::startGraphRecording();
    compute(x, bias, y, kept);
    std::shared_ptr<graph::Graph> graph = context::stopGraphRecording();

    // Replayed, each time with other inputs in the same memory.
    DeviceEvent start, end;
    start.record();
    for (int run = 0; run < 100; ++run) {
        fill(numbers, float(run) / 10);
        context::memcpyH2D(x->data(), numbers.data(), x->nbytes());
        graph->run();
        context::memcpyD2H(result.data(), kept->data(), kept->nbytes());
        for (size_t i = 0; i < result.size(); ++i) {
            float value = numbers[i], expected = value / (1 + std::exp(-value)) * value + 1;
            require(std::abs(result[i] - expected) <= 1e-4f * (1 + std::abs(expected)),
                    "a replay computed something else");
        }
    }
    end.record();
    end.synchronize();
    std::printf("graph   100 replays in %.3f ms, all right\n", start.elapsed_time(end));
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
