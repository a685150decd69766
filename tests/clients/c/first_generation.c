/* The first-generation face from C11, linked. */
#include <infinirt.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call)                                                         \
    do {                                                                    \
        infiniStatus_t status = (call);                                     \
        if (status != INFINI_STATUS_SUCCESS) {                              \
            fprintf(stderr, "line %d: status %d\n", __LINE__, (int)status); \
            return 1;                                                       \
        }                                                                   \
    } while (0)

int main(void) {
    int counts[INFINI_DEVICE_TYPE_COUNT], number = -1;
    infiniDevice_t kind = INFINI_DEVICE_TYPE_COUNT;
    infinirtStream_t stream;
    infinirtGraph_t graph;
    infinirtGraphExec_t exec;
    infinirtDeviceResourceSnapshot_t snapshot;
    void *memory, *host;
    char log[256];

    CHECK(infinirtInit());
    CHECK(infinirtGetAllDeviceCount(counts));
    CHECK(infinirtGetDevice(&kind, &number));
    if (counts[INFINI_DEVICE_CPU] < 1 || kind != INFINI_DEVICE_CPU || number != 0) return 2;
    CHECK(infinirtSetDevice(INFINI_DEVICE_CPU, 0));
    CHECK(infinirtMalloc(&memory, 256));
    CHECK(infinirtMallocHost(&host, 256));
    CHECK(infinirtStreamCreate(&stream));
    CHECK(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(infinirtMemsetAsync(memory, 42, 256, stream));
    CHECK(infinirtMemcpyAsync(host, memory, 256, INFINIRT_MEMCPY_D2H, stream));
    CHECK(infinirtStreamEndCapture(stream, &graph));
    CHECK(infinirtGraphInstantiate(&exec, graph, NULL, log, sizeof log));
    CHECK(infinirtGraphLuanch(exec, stream));
    CHECK(infinirtGraphLaunch(exec, stream));
    CHECK(infinirtStreamSynchronize(stream));
    for (int i = 0; i < 256; ++i)
        if (((unsigned char *)host)[i] != 42) return 3;
    CHECK(infinirtGetDeviceResourceSnapshot(INFINI_DEVICE_CPU, 0, &snapshot));
    if (!(snapshot.valid_fields & INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY)) return 4;
    if (infinirtMalloc(NULL, 4) != INFINI_STATUS_NULL_POINTER) return 5;
    CHECK(infinirtGraphExecDestroy(exec));
    CHECK(infinirtGraphDestroy(graph));
    CHECK(infinirtStreamDestroy(stream));
    CHECK(infinirtFree(memory));
    CHECK(infinirtFreeHost(host));
    printf("ok\n");
    return 0;
}
