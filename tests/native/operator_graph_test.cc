// Operators in streams and graphs: captured operators replay with new data, and live as long as
// needed, even if the descriptor is destroyed.
#include <cmath>
#include <thread>
#include <vector>

#include "check.h"
#include "infini/op_ext.h"
#include "infiniop.h"

namespace {

constexpr size_t kCount = 1000;

struct Silu {
    explicit Silu(infiniopHandle_t handle, size_t count = kCount) {
        infiniopTensorDescriptor_t tensor;
        CHECK(infiniopCreateTensorDescriptor(&tensor, 1, &count, nullptr, INFINI_DTYPE_F32) == 0);
        CHECK(infiniopCreateSiluDescriptor(handle, &desc, tensor, tensor) == 0);
        CHECK(infiniopDestroyTensorDescriptor(tensor) == 0);  // only needed for the call
    }
    ~Silu() {
        if (desc) CHECK(infiniopDestroySiluDescriptor(desc) == 0);
    }
    void run(float *y, const float *x, void *stream) const {
        CHECK_EQ(infiniopSilu(desc, nullptr, 0, y, x, stream), INFINI_STATUS_SUCCESS);
    }
    infiniopSiluDescriptor_t desc = nullptr;
};

void expect_silu(const std::vector<float> &y, const std::vector<float> &x, int times = 1) {
    for (size_t i = 0; i < y.size(); ++i) {
        double value = x[i];
        for (int k = 0; k < times; ++k) value = value / (1 + std::exp(-value));
        CHECK(std::fabs(y[i] - value) <= 1e-6 + 1e-5 * std::fabs(value));
    }
}

void fill(std::vector<float> *x, float first) {
    for (size_t i = 0; i < x->size(); ++i) (*x)[i] = first + float(i) * 0.01f;
}

infinirtGraphExec_t capture(const Silu &silu, infinirtStream_t stream, float *y, float *x,
                            infinirtGraph_t *graph) {
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
    silu.run(y, x, stream);
    silu.run(y, y, stream);  // in place
    OK(infinirtStreamEndCapture(stream, graph));
    infinirtGraphExec_t exec;
    OK(infinirtGraphInstantiate(&exec, *graph, 0));
    return exec;
}

void test_capture(infiniopHandle_t handle) {
    std::vector<float> x(kCount), y(kCount, 7.0f);
    fill(&x, -5);
    infinirtStream_t stream;
    OK(infinirtStreamCreate(&stream));
    infinirtGraph_t graph;
    infinirtGraphExec_t exec;
    {
        Silu silu(handle);
        exec = capture(silu, stream, y.data(), x.data(), &graph);
    }  // the descriptor is destroyed; the graph holds the plan
    CHECK(y[0] == 7.0f);  // recorded, not run

    size_t count = 0;
    OK(infinirtGraphGetNodes(graph, nullptr, &count));
    CHECK_EQ(count, 2);
    std::vector<infinirtGraphNode_t> nodes(count);
    OK(infinirtGraphGetNodes(graph, nodes.data(), &count));
    infinirtGraphNodeType type;
    OK(infinirtGraphNodeGetType(nodes[0], &type));
    CHECK_EQ(type, infinirtGraphNodeTypeKernel);

    OK(infinirtGraphDestroy(graph));
    for (int replay = 0; replay < 3; ++replay) {
        fill(&x, float(replay));
        OK(infinirtGraphLaunch(exec, stream));
        OK(infinirtStreamSynchronize(stream));
        expect_silu(y, x, 2);
    }
    // Destroyed with a launch in flight: the launch still ends as it should.
    Latch latch;
    fill(&x, 1);
    OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtGraphExecDestroy(exec));
    latch.open();
    OK(infinirtStreamSynchronize(stream));
    expect_silu(y, x, 2);
    OK(infinirtStreamDestroy(stream));
}

void test_update(infiniopHandle_t handle) {
    std::vector<float> x(kCount), y(kCount), z(kCount);
    fill(&x, -2);
    infinirtStream_t stream;
    OK(infinirtStreamCreate(&stream));
    Silu silu(handle);
    infinirtGraph_t first, second;
    infinirtGraphExec_t exec = capture(silu, stream, y.data(), x.data(), &first);
    infinirtGraphExec_t other = capture(silu, stream, z.data(), x.data(), &second);
    infinirtGraphExecUpdateResultInfo result;
    OK(infinirtGraphExecUpdate(exec, second, &result));  // now it writes z
    OK(infinirtGraphLaunch(exec, stream));
    OK(infinirtStreamSynchronize(stream));
    expect_silu(z, x, 2);
    CHECK(y[0] == 0.0f);
    for (infinirtGraphExec_t each : {exec, other}) OK(infinirtGraphExecDestroy(each));
    for (infinirtGraph_t each : {first, second}) OK(infinirtGraphDestroy(each));
    OK(infinirtStreamDestroy(stream));
}

// A queued run holds what it needs.
void test_queued(infiniopHandle_t handle) {
    std::vector<float> x(kCount), y(kCount);
    fill(&x, -1);
    infinirtStream_t stream;
    OK(infinirtStreamCreate(&stream));
    Latch latch;
    OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
    {
        Silu silu(handle);
        silu.run(y.data(), x.data(), stream);
    }
    CHECK(y[0] == 0.0f);
    latch.open();
    OK(infinirtStreamSynchronize(stream));
    expect_silu(y, x);
    OK(infinirtStreamDestroy(stream));
}

// Separate streams and threads, one plan cache.
void test_threads() {
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; ++number)
        threads.emplace_back([number] {
            infiniopHandle_t handle;
            CHECK(infiniopCreateHandle(&handle) == 0);
            infinirtStream_t stream;
            OK(infinirtStreamCreate(&stream));
            for (int round = 0; round < 50; ++round) {
                size_t count = kCount + size_t(round % 5);
                std::vector<float> x(count), y(count);
                fill(&x, float(number - round));
                Silu silu(handle, count);
                silu.run(y.data(), x.data(), round % 2 ? stream : nullptr);
                OK(infinirtStreamSynchronize(round % 2 ? stream : nullptr));
                expect_silu(y, x);
            }
            OK(infinirtStreamDestroy(stream));
            CHECK(infiniopDestroyHandle(handle) == 0);
        });
    for (std::thread &thread : threads) thread.join();
}

void test_cache(infiniopHandle_t handle) {
    size_t kept, hits, misses, hits_before, misses_before;
    Silu first(handle, 77);
    infiniopGetPlanCacheCounts(nullptr, &hits_before, &misses_before);
    Silu again(handle, 77);
    infiniopGetPlanCacheCounts(&kept, &hits, &misses);
    CHECK_EQ(hits, hits_before + 1);
    CHECK_EQ(misses, misses_before);
    CHECK(kept > 0);
}

void test_wrong_stream(infiniopHandle_t handle) {
    std::vector<float> x(kCount), y(kCount);
    Silu silu(handle);
    CHECK_EQ(infiniopSilu(silu.desc, nullptr, 0, y.data(), x.data(), &x), INFINI_STATUS_BAD_PARAM);
}

}  // namespace

int main() {
    infiniopHandle_t handle;
    CHECK(infiniopCreateHandle(&handle) == 0);
    test_capture(handle);
    test_update(handle);
    test_queued(handle);
    test_threads();
    test_cache(handle);
    test_wrong_stream(handle);
    CHECK(infiniopDestroyHandle(handle) == 0);
    return 0;
}
