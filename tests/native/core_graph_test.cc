// Graphs in C++: recording, replaying, lifetimes, work of a client's own, what can't be recorded.
#include <cmath>
#include <sstream>
#include <thread>

#include "core_tools.h"

namespace {

using context::cancelGraphRecording;
using context::isGraphRecording;
using context::startGraphRecording;
using context::stopGraphRecording;

Tensor like(const Tensor &x) { return Tensor::empty(x->shape(), x->dtype(), x->device()); }

void set(const Tensor &x, float value) {
    std::vector<float> all(x->numel(), value);
    context::memcpyH2D(x->data(), all.data(), x->nbytes());
}

class Copy : public graph::GraphOperator {
public:
    Copy(const Tensor &dst, const Tensor &src, bool safe = true)
        : dst_(dst), src_(src), safe_(safe) {}
    void run() const override {
        ++runs;
        context::memcpyD2D(dst_->data(), src_->data(), dst_->nbytes());
    }
    bool is_device_graph_capture_safe() const override { return safe_; }
    static void execute(const Tensor &dst, const Tensor &src, bool safe = true) {
        INFINICORE_GRAPH_OP_RECORD_OR_RUN(Copy, dst, src, safe);
    }
    static inline int runs = 0;

private:
    graph::GraphTensor dst_, src_;
    bool safe_;
};

void record_and_replay() {
    Tensor x = numbers({4, 5}), y = Tensor::zeros({4, 5}, DataType::F32, Device::cpu());
    CHECK(!isGraphRecording());
    startGraphRecording();
    CHECK(isGraphRecording());
    std::thread([] { CHECK(!isGraphRecording()); }).join();
    Tensor a = like(x), b = like(x);
    op::run("add", {a, x, x});
    op::run("mul", {b, a, x});
    op::run("add", {y, b, x});
    a.reset();
    b.reset();
    auto graph = stopGraphRecording();
    CHECK(!isGraphRecording());
    CHECK(values(y) == std::vector<float>(20));  // nothing has run
    for (int i = 0; i < 100; ++i) {
        set(x, float(i));
        graph->run();
        CHECK(values(y) == std::vector<float>(20, float(2 * i * i + i)));
    }
}

// A graph keeps what it needs alive after others release it.
void lifetimes() {
    std::weak_ptr<Memory> memory;
    std::shared_ptr<graph::Graph> graph;
    Tensor y = Tensor::zeros({1000}, DataType::F32, Device::cpu());
    {
        Tensor x = numbers({1000}), copied = Tensor::empty({1000}, DataType::F32, Device::cpu());
        memory = x->memory();
        startGraphRecording();
        Tensor inside = like(x);
        Copy::execute(inside, x, false);
        Copy::execute(copied, inside, false);
        op::run("add", {y, copied, copied});
        graph = stopGraphRecording();
    }
    CHECK(!memory.expired());
    std::vector<Tensor> others;
    for (int i = 0; i < 100; ++i) {
        others.push_back(Tensor::empty({1000}, DataType::F32, Device::cpu()));
        set(others.back(), 77);
    }
    graph->run();
    CHECK(values(y)[999] == 1998 && Copy::runs == 2);
    CHECK(values(others[0]) == std::vector<float>(1000, 77));
    graph.reset();
    CHECK(memory.expired());
    Copy::execute(others[0], y);  // not recorded: runs immediately
    CHECK(Copy::runs == 3 && values(others[0])[1] == 2);
}

void tensors_while_recording() {
    Tensor x = numbers({2, 3});
    startGraphRecording();
    Tensor turned = x->permute({1, 0})->contiguous();
    Tensor zero = Tensor::zeros({3, 2}, DataType::F32, Device::cpu());
    Tensor one = Tensor::ones({3, 2}, DataType::F32, Device::cpu());
    Tensor sum = like(turned), result = like(turned);
    op::run("add", {sum, turned, zero});
    op::run("add", {result, sum, one});
    x->copy_from(x->as_strided({2, 3}, {3, 1}));  // onto itself: nothing to do
    auto graph = stopGraphRecording();
    graph->run();
    CHECK(values(result) == std::vector<float>({1, 4, 2, 5, 3, 6}));
    set(x, 5);
    graph->run();
    CHECK(values(result) == std::vector<float>(6, 6));
}

void refusals() {
    THROWS(stopGraphRecording(), "stopGraphRecording", "not recording");
    THROWS(cancelGraphRecording(), "cancelGraphRecording", "not recording");
    THROWS(context::addGraphOperator(nullptr), "addGraphOperator");
    Tensor x = numbers({3});
    float bytes[3];
    DeviceEvent event;
    startGraphRecording();
    THROWS(startGraphRecording(), "startGraphRecording", "already");
    THROWS(context::addGraphOperator(nullptr), "addGraphOperator", "null");
    THROWS(context::memcpyD2H(bytes, x->data(), 12), "memcpyD2H", "cannot be recorded");
    THROWS(context::memcpyH2D(x->data(), bytes, 12), "memcpyH2D", "cannot be recorded");
    THROWS(context::setDeviceMemory(x->data(), 0, 12), "cannot be recorded");
    THROWS(event.record(), "recordEvent", "cannot be recorded");
    std::ostringstream stream;
    THROWS(stream << x, "print", "recorded");
    THROWS(op::run("add", {x, x}), "add", "expected 3");
    THROWS(op::run("add", {x, x, numbers({4})}), "dd", "shape");
    THROWS(op::run("no_such_thing", {x}), "no_such_thing");
    THROWS(op::run("add", {x, x, x}, {1}), "add", "attributes");
    op::run("add", {x, x, x});
    cancelGraphRecording();
    CHECK(values(x)[2] == 2);
    startGraphRecording();
    auto nothing = stopGraphRecording();
    nothing->run();
}

void operators_at_once() {
    Tensor x = numbers({2, 4}), y = like(x), w = Tensor::ones({4}, DataType::F32, Device::cpu());
    op::run("rms_norm", {y, x, w}, {1e-6});
    CHECK(std::abs(values(y)[3] - 1.6035f) < 1e-3f);
    THROWS(op::run("rms_norm", {y, x, w}, {"text"}), "rms_norm", "a number");
}

}  // namespace

int main() {
    RUN(record_and_replay);
    RUN(lifetimes);
    RUN(tensors_while_recording);
    RUN(refusals);
    RUN(operators_at_once);
    return 0;
}
