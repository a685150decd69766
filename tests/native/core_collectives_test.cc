// Collectives on tensors in C++: immediate, in groups, and in recorded graphs.
#include "core_tools.h"

namespace {

namespace collectives = infinicore::collectives;
using collectives::Collective;

constexpr int kRanks = 2;

struct World {
    infinicclComm_t comms[kRanks];
    World() {
        const int devices[kRanks] = {};
        CHECK(infinicclCommInitAll(INFINI_DEVICE_CPU, comms, kRanks, devices) ==
              INFINI_STATUS_SUCCESS);
        for (infinicclComm_t comm : comms) infinicclCommSetTimeout(comm, 20);
    }
    ~World() {
        for (infinicclComm_t comm : comms) infinicclCommDestroy(comm);
    }
};

Tensor filled(float value) {
    Tensor made = Tensor::empty({4}, DataType::F32, Device::cpu());
    const std::vector<float> all(4, value);
    context::memcpyH2D(made->data(), all.data(), made->nbytes());
    return made;
}

void at_once() {
    World world;
    const Tensor a = filled(1), b = filled(2);
    collectives::groupStart();
    collectives::run({INFINI_ALL_REDUCE, a, a, world.comms[0]});
    collectives::run({INFINI_ALL_REDUCE, b, b, world.comms[1]});
    collectives::groupEnd();
    CHECK(values(a) == std::vector<float>(4, 3) && values(b) == std::vector<float>(4, 3));
}

void recorded() {
    World world;
    const Tensor a = filled(1), b = filled(2);
    const Tensor sums[] = {filled(0), filled(0)}, y = filled(0);
    context::startGraphRecording();
    collectives::groupStart();
    collectives::run({INFINI_ALL_REDUCE, a, sums[0], world.comms[0], INFINICCL_MAX});
    collectives::run({INFINI_ALL_REDUCE, b, sums[1], world.comms[1], INFINICCL_MAX});
    collectives::groupEnd();
    op::run("add", {y, sums[0], sums[1]});
    auto graph = context::stopGraphRecording();
    CHECK(values(y) == std::vector<float>(4, 0));  // nothing has run
    for (float value : {3.0f, 5.0f, 7.0f}) {
        a->copy_from(filled(value));
        graph->run();
        CHECK(values(y) == std::vector<float>(4, 2 * value));
    }
}

void mistakes() {
    World world;
    const Tensor a = filled(1), wide = Tensor::zeros({9}, DataType::F32, Device::cpu());
    auto refused = [&](const Collective &given, const char *words) {
        THROWS(collectives::run(given), words);
    };
    refused({INFINI_ALL_GATHER, a, wide, world.comms[0]}, "recv has 9 elements: expected 8");
    refused({INFINI_ALL_REDUCE, a, Tensor(), world.comms[0]}, "recv is empty");
    refused({INFINI_BROADCAST, a, a, world.comms[0], INFINICCL_SUM, 2}, "root is 2");
    refused({INFINI_SEND, a, Tensor(), nullptr}, "no live communicator");
    refused({InfiniCollectiveKind(77), a, a, world.comms[0]}, "kind is 77");
}

}  // namespace

int main() {
    RUN(at_once);
    RUN(recorded);
    RUN(mistakes);
    return 0;
}
