// What copies wait for, and when the client may touch their memory again; batches; captures.
#include <cstring>
#include <thread>

#include "buffers.h"

namespace {

constexpr auto kInvalid = infinirtErrorInvalidValue;
constexpr auto kToDevice = infinirtMemcpyHostToDevice;
constexpr auto kToHost = infinirtMemcpyDeviceToHost;
constexpr auto kOnDevice = infinirtMemcpyDeviceToDevice;
constexpr auto kDefault = infinirtMemcpyDefault;

// The client may change pageable memory as soon as the call returns, however busy the stream is.
void pageable_sources_are_read_at_once() {
    for (unsigned flags : {infinirtStreamNonBlocking, infinirtStreamDefault})
        for (size_t count : {size_t{100}, size_t{1} << 20}) {
            infinirtStream_t stream;
            OK(infinirtStreamCreateWithFlags(&stream, flags));
            DeviceMemory device(2 * count);
            Bytes source = pattern(count), expected = source;
            Latch latch;
            OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
            OK(infinirtMemcpyAsync(device, source.data(), count, kToDevice, stream));
            OK(infinirtMemcpy2DAsync(device.at(count), 10, source.data(), 50, 10, 2, kToDevice,
                                     stream));
            FAILS(infinirtStreamQuery(stream), infinirtErrorNotReady);
            source.assign(count, 0);
            latch.open();
            OK(infinirtStreamSynchronize(stream));
            CHECK(read_back(device, count) == expected);
            CHECK_EQ(read_back(device, count + 20)[count + 10], expected[50]);
            // The same when the stream is idle.
            source = expected = pattern(count, 2);
            OK(infinirtMemcpyAsync(device, source.data(), count, kToDevice, stream));
            source.assign(count, 0);
            OK(infinirtStreamSynchronize(stream));
            CHECK(read_back(device, count) == expected);
            OK(infinirtStreamDestroy(stream));
        }
}

// Copies between host memory, and to pageable memory, are waited for.
void copies_that_wait() {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    DeviceMemory device(64);
    PinnedMemory pinned(64), other(64);
    Bytes host(64), second(64);
    OK(infinirtMemset(device, 4, 64));
    OK(infinirtStreamSynchronize(nullptr));
    memset(pinned, 3, 64);
    struct {
        void *dst, *src;
    } copies[] = {
        {host.data(), device}, {host.data(), pinned}, {other, pinned}, {pinned, second.data()}};
    for (auto [dst, src] : copies) {
        Latch latch;
        OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
        std::atomic<bool> done{false};
        std::thread copier([&, dst = dst, src = src] {
            OK(infinirtMemcpyAsync(dst, src, 64, kDefault, stream));
            done.store(true);
        });
        latch.wait_reached();
        CHECK(!done.load());
        latch.open();
        copier.join();
        CHECK_EQ(memcmp(dst, src, 64), 0);
    }
    OK(infinirtStreamDestroy(stream));
}

// Pinned memory is read when the stream gets there; copies on the device and fills do not make the
// host wait.
void asynchrony() {
    infinirtStream_t stream;
    OK(infinirtStreamCreate(&stream));
    DeviceMemory a(64), b(64);
    PinnedMemory source(64), sink(64);
    memset(source, 1, 64);
    memset(sink, 0, 64);
    Latch latch;
    OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
    OK(infinirtMemcpyAsync(a, source, 64, kToDevice, stream));
    OK(infinirtMemcpyAsync(sink, a, 64, kToHost, stream));
    // In the null stream, behind the latch of a blocking stream.
    OK(infinirtMemcpy(b, a, 64, kOnDevice));
    OK(infinirtMemset(a, 3, 64));
    CHECK_EQ(sink.bytes()[0], 0);
    memset(source, 2, 64);
    latch.open();
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(sink.bytes()[63], 2);
    CHECK_EQ(read_back(b, 64)[63], 2);
    CHECK_EQ(read_back(a, 64)[0], 3);
    OK(infinirtStreamDestroy(stream));
}

void batches() {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    DeviceMemory device(300);
    PinnedMemory pinned(100);
    Bytes host = pattern(100), back(100);
    memcpy(pinned, host.data(), 100);
    void *dsts[] = {device, device.at(100), device.at(200)};
    void *srcs[] = {host.data(), pinned, pinned};
    size_t sizes[] = {100, 100, 50}, starts[] = {0, 1}, at_fault = 7;
    infinirtMemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = infinirtMemcpySrcAccessOrderDuringApiCall;
    attributes[1].srcAccessOrder = infinirtMemcpySrcAccessOrderStream;
    auto run = [&](infinirtStream_t in) {
        return infinirtMemcpyBatchAsync(dsts, srcs, sizes, 3, attributes, starts, 2, &at_fault, in);
    };
    OK(run(stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK(read_back(device, 100) == host && read_back(device.at(100), 100) == host);
    FAILS(run(nullptr), kInvalid);
    sizes[1] = 101;
    FAILS(run(stream), kInvalid);
    CHECK_EQ(at_fault, 1);
    sizes[1] = 100;
    sizes[2] = 0;
    FAILS(run(stream), kInvalid);
    CHECK_EQ(at_fault, 2);
    attributes[1].srcAccessOrder = infinirtMemcpySrcAccessOrderInvalid;
    FAILS(run(stream), kInvalid);
    CHECK_EQ(at_fault, SIZE_MAX);
    attributes[1].srcAccessOrder = infinirtMemcpySrcAccessOrderAny;
    starts[0] = 1;
    FAILS(run(stream), kInvalid);

    infinirtMemcpy3DBatchOp op{};
    op.src.type = op.dst.type = infinirtMemcpyOperandTypePointer;
    op.src.op.ptr = {device, 20, 0, {}};
    op.dst.op.ptr = {back.data(), 0, 0, {}};
    op.extent = {10, 3, 1};
    op.srcAccessOrder = infinirtMemcpySrcAccessOrderStream;
    OK(infinirtMemcpy3DBatchAsync(1, &op, &at_fault, 0, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(back[25], host[45]);
    op.src.op.ptr.rowLength = 9;
    FAILS(infinirtMemcpy3DBatchAsync(1, &op, &at_fault, 0, stream), infinirtErrorInvalidPitchValue);
    CHECK_EQ(at_fault, 0);
    op.src.type = infinirtMemcpyOperandTypeArray;
    FAILS(infinirtMemcpy3DBatchAsync(1, &op, nullptr, 0, stream), infinirtErrorNotSupported);
    FAILS(infinirtMemcpy3DBatchAsync(1, &op, nullptr, 1, stream), kInvalid);
    OK(infinirtStreamDestroy(stream));
}

// Asynchronous copies become nodes. Synchronous ones are work of the null stream, not part of any
// capture.
void capture() {
    infinirtStream_t stream, blocking;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    OK(infinirtStreamCreate(&blocking));
    DeviceMemory device(64);
    Bytes host(64, 1);
    infinirtGraph_t graph;
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    OK(infinirtMemcpyAsync(device, host.data(), 64, kToDevice, stream));
    OK(infinirtMemsetAsync(device, 9, 32, stream));
    OK(infinirtMemcpyAsync(host.data(), device, 64, kToHost, stream));
    OK(infinirtMemcpy(device, host.data(), 64, kToDevice));
    OK(infinirtStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    OK(infinirtGraphGetNodes(graph, nullptr, &nodes));
    CHECK_EQ(nodes, 3);
    OK(infinirtGraphDestroy(graph));

    void *memory;
    for (int which = 0; which < 2; ++which) {
        OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
        auto unsupported = infinirtErrorStreamCaptureUnsupported;
        if (which == 0) FAILS(infinirtMalloc(&memory, 64), unsupported);
        if (which == 1) FAILS(infinirtFree(device), unsupported);
        FAILS(infinirtStreamEndCapture(stream, &graph), infinirtErrorStreamCaptureInvalidated);
        OK(infinirtStreamBeginCapture(blocking, infinirtStreamCaptureModeRelaxed));
        auto implicit = infinirtErrorStreamCaptureImplicit;
        if (which == 0) FAILS(infinirtMemcpy(device, host.data(), 64, kToDevice), implicit);
        if (which == 1) FAILS(infinirtMemset(device, 0, 64), implicit);
        FAILS(infinirtStreamEndCapture(blocking, &graph), infinirtErrorStreamCaptureInvalidated);
    }
    OK(infinirtStreamDestroy(stream));
    OK(infinirtStreamDestroy(blocking));
}

void many_threads() {
    DeviceMemory shared(64 * 4096);
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 64; ++id)
        threads.emplace_back([&, id] {
            infinirtStream_t stream;
            OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
            for (unsigned round = 0; round < 30; ++round) {
                Bytes mine = pattern(4096, id + round), back(4096);
                unsigned char *place = shared.at(id * 4096);
                if (round % 2) {
                    OK(infinirtMemcpy(place, mine.data(), 4096, kToDevice));
                } else {
                    OK(infinirtMemcpyAsync(place, mine.data(), 4096, kDefault, stream));
                    OK(infinirtStreamSynchronize(stream));
                }
                OK(infinirtMemcpy(back.data(), place, 4096, kToHost));
                CHECK(back == mine);
            }
            OK(infinirtStreamDestroy(stream));
        });
    for (std::thread &thread : threads) thread.join();
}

}  // namespace

int main() {
    RUN(pageable_sources_are_read_at_once);
    RUN(copies_that_wait);
    RUN(asynchrony);
    RUN(batches);
    RUN(capture);
    RUN(many_threads);
    std::puts("ok");
}
