// Two ranks of one process, a thread each: their linear layers hold slices, and add up.
#include <cstdio>
#include <infinicore/graph.hpp>
#include <infinicore/nn.hpp>
#include <thread>

using namespace infinicore;

// On any CPU device: all of them are the host's memory.
static Tensor counting(const Shape &shape, Device device) {
    Tensor made = Tensor::empty(shape, DataType::F32, device);
    auto *values = reinterpret_cast<float *>(made->data());
    for (size_t i = 0; i < made->numel(); ++i) values[i] = float(i);
    return made;
}

static bool equal(const Tensor &tensor, float first, float second) {
    context::syncStream();
    auto *values = reinterpret_cast<const float *>(tensor->data());
    return values[0] == first && values[1] == second;
}

struct Rank {
    Rank(Size rank, infinicclComm_t comm)
        : device(Device::Type::CPU, rank),
          number(rank),
          up(2, 4, false, DataType::F32, device, rank, 2),
          down(4, 2, true, DataType::F32, device, rank, 2, comm) {
        up.load_parameter("weight", counting({4, 2}, Device::cpu()));
        down.load_state_dict(
            {{"weight", counting({2, 4}, Device::cpu())}, {"bias", counting({2}, Device::cpu())}});
    }

    // up: [1, 3, 5, 7] of [0, 1]; down: 0*1 + 1*3 + 2*5 + 3*7, 4*1 + 5*3 + 6*5 + 7*7, and the bias.
    int check() const {
        context::setDevice(device);
        Tensor x = counting({1, 2}, device), hidden = up.forward(x);
        if (!equal(hidden, number ? 5 : 1, number ? 7 : 3)) return 1;
        if (!equal(down.forward(hidden), 34, 98 + 1)) return 2;

        context::startGraphRecording();
        hidden = up.forward(x);
        Tensor out = down.forward(hidden);
        std::shared_ptr<graph::Graph> graph = context::stopGraphRecording();
        for (int i = 0; i < 3; ++i) graph->run();
        return equal(out, 34, 98 + 1) ? 0 : 3;
    }

    void run() {
        try {
            result = check();
        } catch (const std::exception &error) {
            std::fprintf(stderr, "rank %zu: %s\n", number, error.what());
            result = 4;
        }
    }

    Device device;
    Size number;
    nn::ColumnParallelLinear up;
    nn::RowParallelLinear down;
    int result = 0;
};

int main() {
    infinicclComm_t comms[2];
    int devices[] = {0, 1};
    if (infinicclCommInitAll(INFINI_DEVICE_CPU, comms, 2, devices) != INFINI_STATUS_SUCCESS)
        return 10;
    Rank first(0, comms[0]), second(1, comms[1]);
    std::thread other([&] { second.run(); });
    first.run();
    other.join();
    for (infinicclComm_t comm : comms) infinicclCommDestroy(comm);
    if (first.result || second.result) return first.result ? first.result : second.result;
    std::puts("ok");
}
