// The null back end, through its driver table: all work is done when the call returns.
#include <cstring>

#include "cpu_driver.h"

namespace {

void work_is_done_at_once() {
    char *a = allocate(4096), *b = allocate(4096);
    CHECK_EQ(reinterpret_cast<uintptr_t>(a) % 256, 0);
    void *stream = make_stream(), *start = make_event(), *end = make_event();
    std::atomic<int> count{0};
    InfiniWork work[] = {event_work(INFINI_WORK_RECORD, start),
                         fill_work(a, 7, 4096),
                         copy_work(b, a, 4096),
                         host_work(add_one, &count),
                         event_work(INFINI_WORK_RECORD, end),
                         event_work(INFINI_WORK_WAIT, start)};
    float ms = -1;
    CHECK_EQ(driver->event_elapsed(start, end, &ms), infinirtErrorInvalidResourceHandle);
    OK(driver->submit(0, stream, work, 6));
    CHECK_EQ(b[4095], 7);
    CHECK_EQ(count.load(), 1);
    OK(driver->stream_query(0, stream));
    OK(driver->event_query(0, end));
    OK(driver->event_elapsed(start, end, &ms));
    CHECK(ms >= 0);
    InfiniWork box{};
    box.kind = INFINI_WORK_FILL;
    box.as.fill = {a, 0x04030201, 4, 2, 2, 1, 16, 32};
    submit(nullptr, box);
    CHECK(memcmp(a, "\1\2\3\4\1\2\3\4\7\7\7\7\7\7\7\7\1\2\3\4\1\2\3\4\7", 25) == 0);
    OK(driver->device_synchronize(0));
    for (void *event : {start, end}) OK(driver->event_destroy(0, event));
    OK(driver->stream_destroy(0, stream));
    for (char *memory : {a, b}) OK(driver->release(0, memory, 4096));
}

void too_much_memory_is_an_error() {
    void *memory = nullptr;
    CHECK_EQ(driver->allocate(0, SIZE_MAX, &memory), infinirtErrorMemoryAllocation);
    CHECK(!explanation.empty());
}

}  // namespace

int main() {
    open_driver("INFINI_NULL_LIBRARY", "/../null/libinfini_null.so");
    CHECK_EQ(device_count, 1);
    RUN(work_is_done_at_once);
    RUN(too_much_memory_is_an_error);
    std::puts("all passed");
}
