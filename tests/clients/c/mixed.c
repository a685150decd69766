/* Both faces in one program. Their headers exclude each other, so this file is compiled twice: as
 * the main program of the aligned face, and with -DFIRST_GENERATION as its other half. */
#ifdef FIRST_GENERATION
#include <infinirt.h>

int fill(void *memory, int value, size_t bytes, void *stream, void **event);
int fill(void *memory, int value, size_t bytes, void *stream, void **event) {
    infinirtEvent_t made;
    if (infinirtEventCreate(&made) != INFINI_STATUS_SUCCESS) return 1;
    if (infinirtMemsetAsync(memory, value, bytes, stream) != INFINI_STATUS_SUCCESS) return 2;
    if (infinirtEventRecord(made, stream) != INFINI_STATUS_SUCCESS) return 3;
    *event = made;
    return 0;
}
#else
#include <infinirt_runtime_api.h>
#include <stdio.h>

int fill(void *memory, int value, size_t bytes, void *stream, void **event);

int main(void) {
    void *memory = NULL, *event = NULL;
    unsigned char host[64] = {0};
    infinirtStream_t stream, other;
    if (infinirtMalloc(&memory, sizeof host) || infinirtStreamCreate(&stream)) return 1;
    if (infinirtStreamCreateWithFlags(&other, infinirtStreamNonBlocking)) return 2;
    if (fill(memory, 9, sizeof host, stream, &event)) return 3;
    if (infinirtStreamWaitEvent(other, (infinirtEvent_t)event, 0)) return 4;
    if (infinirtMemcpyAsync(host, memory, sizeof host, infinirtMemcpyDeviceToHost, other)) return 5;
    if (infinirtStreamSynchronize(other) || host[63] != 9) return 6;
    if (infinirtEventDestroy((infinirtEvent_t)event) || infinirtFree(memory)) return 7;
    printf("ok\n");
    return 0;
}
#endif
