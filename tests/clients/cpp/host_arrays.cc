// A graph whose int32 input follows an array of the host.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <infinicore.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace infinicore;

namespace {

void check(bool is_true, const char *what) {
    if (is_true) return;
    std::printf("failed: %s\n", what);
    std::exit(1);
}
#define CHECK(condition) check(condition, #condition)

std::vector<int32_t> values(const Tensor &tensor) {
    Tensor host = tensor->to(Device::cpu());
    context::syncDevice();
    auto *data = reinterpret_cast<const int32_t *>(host->data());
    return {data, data + host->numel()};
}

std::string refusal(graph::Graph &graph, const Tensor &tensor, const int32_t *data, size_t n) {
    try {
        graph.bind_host_int_array(tensor, data, n);
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

}  // namespace

int main() {
    const Device device = context::getDevice();
    Tensor x = Tensor::zeros({3}, DataType::I32, device);
    Tensor y = Tensor::zeros({3}, DataType::I32, device);
    context::startGraphRecording();
    op::run("add", {y, x, x});
    op::run("mul", {y, y, x});
    auto graph = context::stopGraphRecording();

    std::vector<int32_t> array{1, 2, 3};
    graph->bind_host_int_array(x, array.data(), array.size());
    CHECK(values(x) == (std::vector<int32_t>{0, 0, 0}));  // copied by run(), not before
    graph->run();
    CHECK(values(y) == (std::vector<int32_t>{2, 8, 18}));
    // The values at the call of run() are used, even for memory that a device reads directly.
    auto pinned = context::allocatePinnedHostMemory(3 * sizeof(int32_t));
    auto *direct = reinterpret_cast<int32_t *>(pinned->data());
    for (int round = 0; round < 100; ++round) {
        int32_t *data = round % 2 ? array.data() : direct;
        graph->bind_host_int_array(x, data, 3);
        for (int i = 0; i < 3; ++i) data[i] = round + i;
        graph->run();
        for (int i = 0; i < 3; ++i) data[i] = -1;
        std::vector<int32_t> expected;
        for (int i = 0; i < 3; ++i) expected.push_back(2 * (round + i) * (round + i));
        CHECK(values(y) == expected);
    }
    // The graph keeps the tensor.
    graph->bind_host_int_array(x, array.data(), 3);
    x.reset();
    array = {5, 6, 7};
    graph->run();
    CHECK(values(y) == (std::vector<int32_t>{50, 72, 98}));

    Tensor floats = Tensor::zeros({3}, DataType::F32, device);
    const std::string function = "Graph::bind_host_int_array: ";
    CHECK(refusal(*graph, floats, array.data(), 3) ==
          function + "tensor is of type F32: expected I32");
    CHECK(refusal(*graph, y, array.data(), 2) ==
          function + "tensor has shape [3]: expected n elements, 2");
    CHECK(refusal(*graph, y, nullptr, 3) == function + "values is null: expected 3 numbers");
    CHECK(refusal(*graph, {}, array.data(), 3) == function + "tensor is empty: expected a tensor");
    Tensor strided = Tensor::zeros({3, 2}, DataType::I32, device)->narrow({{1, 0, 1}});
    CHECK(refusal(*graph, strided, array.data(), 3).find("strides [2, 1]") != std::string::npos);

    // A file has the tensor as an input.
    const std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") +
                             "/host_arrays_" + std::to_string(getpid()) + ".graph";
    graph->save(path);
    auto loaded = graph::Graph::load(path, device);
    std::remove(path.c_str());
    array = {1, 1, 1};
    loaded->run();
    CHECK(values(loaded->outputs().front().tensor) == (std::vector<int32_t>{50, 72, 98}));
    loaded->bind_host_int_array(loaded->inputs().front().tensor, array.data(), 3);
    loaded->run();
    CHECK(values(loaded->outputs().front().tensor) == (std::vector<int32_t>{2, 2, 2}));
    std::printf("ok on %s\n", device.toString().c_str());
}
