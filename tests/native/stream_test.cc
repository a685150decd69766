// Streams, events and capture through the public API.
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

namespace {

infinirtStream_t make_stream(unsigned flags = infinirtStreamNonBlocking) {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, flags));
    return stream;
}

infinirtEvent_t make_event(unsigned flags = infinirtEventDisableTiming) {
    infinirtEvent_t event;
    OK(infinirtEventCreateWithFlags(&event, flags));
    return event;
}

void hold(infinirtStream_t stream, Latch &latch) {
    OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
}

void add_one(void *counter) { static_cast<std::atomic<int> *>(counter)->fetch_add(1); }

void work_waits_for_its_stream_only() {
    infinirtStream_t a = make_stream(), b = make_stream();
    Latch latch;
    std::atomic<int> count{0};
    hold(a, latch);
    OK(infinirtLaunchHostFunc(a, add_one, &count));
    latch.wait_reached();
    FAILS(infinirtStreamQuery(a), infinirtErrorNotReady);
    OK(infinirtLaunchHostFunc(b, add_one, &count));
    OK(infinirtStreamSynchronize(b));
    CHECK_EQ(count.load(), 1);
    latch.open();
    OK(infinirtStreamSynchronize(a));
    CHECK_EQ(count.load(), 2);
    OK(infinirtStreamDestroy(a));
    OK(infinirtStreamDestroy(b));
    FAILS(infinirtStreamQuery(a), infinirtErrorInvalidResourceHandle);
    FAILS(infinirtStreamDestroy(nullptr), infinirtErrorInvalidResourceHandle);
}

// The null stream and blocking streams wait for each other; non-blocking streams do not.
void null_stream_rules() {
    infinirtStream_t blocking = make_stream(infinirtStreamDefault), free_running = make_stream();
    std::atomic<int> count{0};
    Latch first;
    hold(blocking, first);
    OK(infinirtLaunchHostFunc(nullptr, add_one, &count));
    OK(infinirtLaunchHostFunc(free_running, add_one, &count));
    OK(infinirtStreamSynchronize(free_running));
    CHECK_EQ(count.load(), 1);
    FAILS(infinirtStreamQuery(nullptr), infinirtErrorNotReady);
    first.open();
    OK(infinirtStreamSynchronize(nullptr));
    CHECK_EQ(count.load(), 2);

    Latch second;
    hold(nullptr, second);
    OK(infinirtLaunchHostFunc(blocking, add_one, &count));
    OK(infinirtLaunchHostFunc(free_running, add_one, &count));
    OK(infinirtStreamSynchronize(free_running));
    CHECK_EQ(count.load(), 3);
    FAILS(infinirtStreamQuery(blocking), infinirtErrorNotReady);
    second.open();
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(count.load(), 4);
    OK(infinirtStreamDestroy(blocking));
    OK(infinirtStreamDestroy(free_running));
}

void events_order_streams() {
    infinirtStream_t a = make_stream(), b = make_stream();
    infinirtEvent_t event = make_event();
    OK(infinirtEventQuery(event));  // never recorded: done
    Latch latch;
    std::atomic<int> count{0};
    hold(a, latch);
    OK(infinirtEventRecord(event, a));
    OK(infinirtStreamWaitEvent(b, event, 0));
    OK(infinirtLaunchHostFunc(b, add_one, &count));
    FAILS(infinirtEventQuery(event), infinirtErrorNotReady);
    FAILS(infinirtStreamQuery(b), infinirtErrorNotReady);
    CHECK_EQ(count.load(), 0);
    OK(infinirtEventDestroy(event));  // in use: destroyed immediately, as in CUDA
    latch.open();
    OK(infinirtStreamSynchronize(b));
    CHECK_EQ(count.load(), 1);
    OK(infinirtStreamDestroy(a));
    OK(infinirtStreamDestroy(b));
}

void event_times() {
    infinirtEvent_t start = make_event(infinirtEventDefault),
                    end = make_event(infinirtEventDefault);
    infinirtEvent_t untimed = make_event();
    float ms = -1;
    FAILS(infinirtEventElapsedTime(&ms, start, end), infinirtErrorInvalidResourceHandle);
    OK(infinirtEventRecord(start, nullptr));
    OK(infinirtEventRecord(end, nullptr));
    OK(infinirtEventRecord(untimed, nullptr));
    OK(infinirtEventSynchronize(end));
    OK(infinirtEventElapsedTime(&ms, start, end));
    CHECK(ms >= 0);
    FAILS(infinirtEventElapsedTime(&ms, start, untimed), infinirtErrorInvalidResourceHandle);
    for (infinirtEvent_t event : {start, end, untimed}) OK(infinirtEventDestroy(event));
    FAILS(infinirtEventQuery(start), infinirtErrorInvalidResourceHandle);
}

void no_calls_inside_host_functions() {
    infinirtStream_t stream = make_stream();
    infinirtError_t error = infinirtSuccess;
    OK(infinirtLaunchHostFunc(
        stream,
        [](void *result) { *static_cast<infinirtError_t *>(result) = infinirtDeviceSynchronize(); },
        &error));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(error, infinirtErrorNotPermitted);
    OK(infinirtStreamDestroy(stream));
}

void capture_follows_events() {
    infinirtStream_t a = make_stream(), b = make_stream();
    infinirtEvent_t fork = make_event(), join = make_event();
    std::atomic<int> count{0};
    OK(infinirtStreamBeginCapture(a, infinirtStreamCaptureModeThreadLocal));
    OK(infinirtLaunchHostFunc(a, add_one, &count));
    OK(infinirtEventRecord(fork, a));
    OK(infinirtStreamWaitEvent(b, fork, 0));
    infinirtStreamCaptureStatus status;
    OK(infinirtStreamIsCapturing(b, &status));
    CHECK_EQ(status, infinirtStreamCaptureStatusActive);
    OK(infinirtLaunchHostFunc(b, add_one, &count));
    float ms;
    FAILS(infinirtEventElapsedTime(&ms, fork, fork), infinirtErrorCapturedEvent);
    OK(infinirtEventRecord(join, b));
    OK(infinirtStreamWaitEvent(a, join, 0));
    infinirtGraph_t graph;
    OK(infinirtStreamEndCapture(a, &graph));
    CHECK_EQ(count.load(), 0);
    OK(infinirtStreamIsCapturing(b, &status));
    CHECK_EQ(status, infinirtStreamCaptureStatusNone);
    FAILS(infinirtStreamWaitEvent(a, fork, 0), infinirtErrorCapturedEvent);
    infinirtGraphExec_t exec;
    OK(infinirtGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 100; ++i) OK(infinirtGraphLaunch(exec, a));
    OK(infinirtStreamSynchronize(a));
    CHECK_EQ(count.load(), 200);
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    for (infinirtEvent_t event : {fork, join}) OK(infinirtEventDestroy(event));
    for (infinirtStream_t stream : {a, b}) OK(infinirtStreamDestroy(stream));
}

void ends_with(infinirtStream_t stream, infinirtError_t error) {
    infinirtGraph_t graph = reinterpret_cast<infinirtGraph_t>(1);
    FAILS(infinirtStreamEndCapture(stream, &graph), error);
    CHECK(graph == nullptr);
}

void capture_rules() {
    infinirtStream_t a = make_stream(), b = make_stream(),
                     blocking = make_stream(infinirtStreamDefault);
    infinirtEvent_t event = make_event();
    std::atomic<int> count{0};
    const auto global = infinirtStreamCaptureModeGlobal;

    FAILS(infinirtStreamBeginCapture(nullptr, global), infinirtErrorStreamCaptureUnsupported);
    ends_with(a, infinirtErrorIllegalState);

    // Waiting for a captured stream.
    OK(infinirtStreamBeginCapture(a, global));
    FAILS(infinirtStreamBeginCapture(a, global), infinirtErrorIllegalState);
    FAILS(infinirtStreamSynchronize(a), infinirtErrorStreamCaptureUnsupported);
    FAILS(infinirtLaunchHostFunc(a, add_one, &count), infinirtErrorStreamCaptureInvalidated);
    ends_with(a, infinirtErrorStreamCaptureInvalidated);

    // Unsafe calls, by mode.
    void *memory = nullptr;
    OK(infinirtStreamBeginCapture(a, global));
    FAILS(infinirtMalloc(&memory, 1024), infinirtErrorStreamCaptureUnsupported);
    ends_with(a, infinirtErrorStreamCaptureInvalidated);
    OK(infinirtStreamBeginCapture(a, infinirtStreamCaptureModeRelaxed));
    OK(infinirtMalloc(&memory, 1024));
    OK(infinirtFree(memory));
    infinirtGraph_t graph;
    OK(infinirtStreamEndCapture(a, &graph));
    OK(infinirtGraphDestroy(graph));
    for (auto mode : {global, infinirtStreamCaptureModeThreadLocal}) {
        OK(infinirtStreamBeginCapture(a, mode));
        bool everywhere = mode == global;
        std::thread([&] {
            void *other = nullptr;
            FAILS(infinirtMalloc(&other, 64),
                  everywhere ? infinirtErrorStreamCaptureUnsupported : infinirtSuccess);
            if (!everywhere) OK(infinirtFree(other));
        }).join();
        if (everywhere) {
            ends_with(a, infinirtErrorStreamCaptureInvalidated);
        } else {
            OK(infinirtStreamEndCapture(a, &graph));
            OK(infinirtGraphDestroy(graph));
        }
    }

    // Another thread cannot end it, but its attempt does.
    OK(infinirtStreamBeginCapture(a, global));
    std::thread([&] { ends_with(a, infinirtErrorStreamCaptureWrongThread); }).join();
    ends_with(a, infinirtErrorIllegalState);

    // The null stream while a blocking stream is captured.
    OK(infinirtStreamBeginCapture(blocking, infinirtStreamCaptureModeRelaxed));
    FAILS(infinirtLaunchHostFunc(nullptr, add_one, &count), infinirtErrorStreamCaptureImplicit);
    ends_with(blocking, infinirtErrorStreamCaptureInvalidated);

    // Joining: not joined back, wrong stream, another capture, work from outside.
    OK(infinirtStreamBeginCapture(a, global));
    OK(infinirtEventRecord(event, a));
    OK(infinirtStreamWaitEvent(b, event, 0));
    OK(infinirtLaunchHostFunc(b, add_one, &count));
    ends_with(a, infinirtErrorStreamCaptureUnjoined);

    OK(infinirtStreamBeginCapture(a, global));
    OK(infinirtEventRecord(event, a));
    OK(infinirtStreamWaitEvent(b, event, 0));
    FAILS(infinirtStreamEndCapture(b, &graph), infinirtErrorStreamCaptureUnmatched);
    ends_with(a, infinirtErrorStreamCaptureInvalidated);

    OK(infinirtStreamBeginCapture(a, global));
    OK(infinirtStreamBeginCapture(b, global));
    OK(infinirtEventRecord(event, a));
    FAILS(infinirtStreamWaitEvent(b, event, 0), infinirtErrorStreamCaptureMerge);
    ends_with(a, infinirtErrorStreamCaptureInvalidated);
    ends_with(b, infinirtErrorStreamCaptureInvalidated);

    OK(infinirtEventRecord(event, b));
    OK(infinirtStreamBeginCapture(a, global));
    FAILS(infinirtStreamWaitEvent(a, event, 0), infinirtErrorStreamCaptureIsolation);
    ends_with(a, infinirtErrorStreamCaptureInvalidated);

    CHECK_EQ(count.load(), 0);
    OK(infinirtDeviceSynchronize());
    OK(infinirtEventDestroy(event));
    for (infinirtStream_t stream : {a, b, blocking}) OK(infinirtStreamDestroy(stream));
}

void many_threads() {
    std::atomic<int> count{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 64; ++t) {
        threads.emplace_back([&count, t] {
            infinirtStream_t a = make_stream(), b = make_stream(t % 2 ? infinirtStreamDefault
                                                                      : infinirtStreamNonBlocking);
            infinirtEvent_t event = make_event();
            for (int i = 0; i < 20; ++i) {
                OK(infinirtLaunchHostFunc(a, add_one, &count));
                OK(infinirtEventRecord(event, a));
                OK(infinirtStreamWaitEvent(b, event, 0));
                OK(infinirtLaunchHostFunc(b, add_one, &count));
            }
            OK(infinirtStreamSynchronize(b));
            OK(infinirtStreamWaitEvent(infinirtStreamPerThread, event, 0));
            OK(infinirtLaunchHostFunc(infinirtStreamPerThread, add_one, &count));
            OK(infinirtStreamSynchronize(infinirtStreamPerThread));
            OK(infinirtEventDestroy(event));
            OK(infinirtStreamDestroy(a));
            OK(infinirtStreamDestroy(b));
        });
    }
    for (std::thread &thread : threads) thread.join();
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(count.load(), 64 * 41);
}

}  // namespace

int main() {
    RUN(work_waits_for_its_stream_only);
    RUN(null_stream_rules);
    RUN(events_order_streams);
    RUN(event_times);
    RUN(no_calls_inside_host_functions);
    RUN(capture_follows_events);
    RUN(capture_rules);
    RUN(many_threads);
}
