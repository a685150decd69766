/* The aligned face from C11: memory, streams, events, a replayed capture, error messages. */
#include <infini/ext.h>
#include <infinirt_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        infinirtError_t error = (call);                                                            \
        if (error != infinirtSuccess) {                                                            \
            fprintf(stderr, "%s: %s\n", infinirtGetErrorName(error), infiniGetLastErrorMessage()); \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { BYTES = 1 << 16 };

static void count(void *counter) { ++*(int *)counter; }

int main(void) {
    unsigned char *host, *x, *y;
    infinirtStream_t a, b;
    infinirtEvent_t ready, done;
    infinirtGraph_t graph;
    infinirtGraphExec_t exec;
    size_t nodes = 0;
    int version, devices, calls = 0;
    float milliseconds = -1;
    struct infinirtDeviceProp properties;

    CHECK(infinirtRuntimeGetVersion(&version));
    CHECK(infinirtGetDeviceCount(&devices));
    CHECK(infinirtGetDeviceProperties(&properties, 0));
    CHECK(infinirtMallocHost((void **)&host, BYTES));
    CHECK(infinirtMalloc((void **)&x, BYTES));
    CHECK(infinirtMalloc((void **)&y, BYTES));
    CHECK(infinirtStreamCreateWithFlags(&a, infinirtStreamNonBlocking));
    CHECK(infinirtStreamCreate(&b));
    CHECK(infinirtEventCreate(&ready));
    CHECK(infinirtEventCreate(&done));

    CHECK(infinirtStreamBeginCapture(a, infinirtStreamCaptureModeGlobal));
    CHECK(infinirtMemsetAsync(x, 7, BYTES, a));
    CHECK(infinirtEventRecord(ready, a));
    CHECK(infinirtStreamWaitEvent(b, ready, 0));
    CHECK(infinirtMemcpyAsync(y, x, BYTES, infinirtMemcpyDeviceToDevice, b));
    CHECK(infinirtLaunchHostFunc(b, count, &calls));
    CHECK(infinirtEventRecord(done, b));
    CHECK(infinirtStreamWaitEvent(a, done, 0));
    CHECK(infinirtStreamEndCapture(a, &graph));
    CHECK(infinirtGraphGetNodes(graph, NULL, &nodes));
    CHECK(infinirtGraphInstantiate(&exec, graph, 0));

    CHECK(infinirtEventRecord(ready, a));
    for (int i = 0; i < 100; ++i) CHECK(infinirtGraphLaunch(exec, a));
    CHECK(infinirtMemcpyAsync(host, y, BYTES, infinirtMemcpyDeviceToHost, a));
    CHECK(infinirtEventRecord(done, a));
    CHECK(infinirtEventSynchronize(done));
    CHECK(infinirtEventElapsedTime(&milliseconds, ready, done));
    for (int i = 0; i < BYTES; ++i)
        if (host[i] != 7) return 2;
    if (calls != 100 || nodes != 3 || milliseconds <= 0) return 3;

    if (infinirtMemcpy(x, NULL, 4, infinirtMemcpyDefault) != infinirtErrorInvalidValue) return 4;
    if (!strstr(infiniGetLastErrorMessage(), "infinirtMemcpy: ")) return 5;
    if (infinirtGetLastError() != infinirtErrorInvalidValue) return 6;

    CHECK(infinirtGraphExecDestroy(exec));
    CHECK(infinirtGraphDestroy(graph));
    CHECK(infinirtEventDestroy(ready));
    CHECK(infinirtEventDestroy(done));
    CHECK(infinirtStreamDestroy(a));
    CHECK(infinirtStreamDestroy(b));
    CHECK(infinirtFree(x));
    CHECK(infinirtFree(y));
    CHECK(infinirtFreeHost(host));
    printf("ok %d %s\n", version, properties.name);
    return devices >= 1 ? 0 : 7;
}
