// The CPU back end inside one process: streams, the legacy stream, events, copies and fills.
#include "cpu_driver.h"

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "seed.h"

namespace {

constexpr auto kNotReady = infinirtErrorNotReady;

// ---- Streams ------------------------------------------------------------------------------------

void work_runs_in_order() {
    void *stream = make_stream();
    std::vector<int> seen;
    struct Step {
        std::vector<int> *seen;
        int number;
    };
    std::vector<Step> steps;
    std::vector<InfiniWork> batch;
    for (int i = 0; i < 1000; ++i) steps.push_back({&seen, i});
    auto note = [](void *data) {
        auto *step = static_cast<Step *>(data);
        step->seen->push_back(step->number);
    };
    for (int i = 0; i < 500; ++i) host(stream, note, &steps[i]);
    for (int i = 500; i < 1000; ++i) batch.push_back(host_work(note, &steps[i]));
    OK(driver->submit(0, stream, batch.data(), batch.size()));
    synchronize(stream);
    CHECK_EQ(seen.size(), 1000);
    for (int i = 0; i < 1000; ++i) CHECK_EQ(seen[i], i);
    OK(driver->stream_destroy(0, stream));
}

void blocked_streams_leave_others_alone() {
    std::vector<void *> streams;
    std::vector<std::unique_ptr<Latch>> latches;
    for (int i = 0; i < 40; ++i) {
        streams.push_back(make_stream());
        latches.push_back(std::make_unique<Latch>(streams.back()));
    }
    for (auto &latch : latches) latch->wait_reached();
    void *other = make_stream();
    char *memory = allocate(4096);
    submit(other, fill_work(memory, 7, 4096));
    synchronize(other);
    CHECK_EQ(memory[4095], 7);
    for (void *stream : streams) CHECK_EQ(driver->stream_query(0, stream), kNotReady);
    for (auto &latch : latches) latch->open();
    OK(driver->device_synchronize(0));
    for (void *stream : streams) OK(driver->stream_query(0, stream));
    for (void *stream : streams) OK(driver->stream_destroy(0, stream));
    OK(driver->stream_destroy(0, other));
    OK(driver->release(0, memory, 4096));
}

void destroyed_streams_finish_their_work() {
    std::atomic<int> count{0};
    void *stream = make_stream(), *event = make_event(), *follower = make_stream();
    Latch latch(stream);
    for (int i = 0; i < 100; ++i) host(stream, add_one, &count);
    record(stream, event);
    wait(follower, event);
    host(follower, add_one, &count);
    OK(driver->event_destroy(0, event));
    OK(driver->stream_destroy(0, stream));
    OK(driver->stream_destroy(0, follower));
    CHECK_EQ(count.load(), 0);
    latch.open();
    OK(driver->device_synchronize(0));
    CHECK_EQ(count.load(), 101);
}

// ---- The legacy stream --------------------------------------------------------------------------

void legacy_copy_is_inline_when_nothing_is_pending() {
    char *a = allocate(4096), *b = allocate(4096);
    memset(a, 5, 4096);
    submit(nullptr, copy_work(b, a, 4096));
    CHECK_EQ(b[4095], 5);
    OK(driver->stream_query(0, nullptr));

    void *free_running = make_stream(infinirtStreamNonBlocking);
    Latch latch(free_running);  // exempt from the rules
    submit(nullptr, fill_work(b, 6, 4096));
    CHECK_EQ(b[4095], 6);
    latch.open();
    synchronize(free_running);
    OK(driver->stream_destroy(0, free_running));
    OK(driver->release(0, a, 4096));
    OK(driver->release(0, b, 4096));
}

void legacy_and_blocking_streams_wait_for_each_other() {
    char *memory = allocate(4096);
    std::atomic<int> count{0};
    void *first = make_stream(infinirtStreamDefault), *second = make_stream(infinirtStreamDefault);
    void *idle = make_stream(infinirtStreamDefault), *free_running = make_stream();
    void *event = make_event();
    Latch latch(first);
    submit(nullptr, fill_work(memory, 1, 4096));  // waits for `first`
    host(second, add_one, &count);                // waits for the fill
    record(idle, event);                          // so does this
    CHECK_EQ(driver->stream_query(0, nullptr), kNotReady);
    CHECK_EQ(driver->stream_query(0, second), kNotReady);
    CHECK_EQ(driver->stream_query(0, idle), kNotReady);
    host(free_running, add_one, &count);
    synchronize(free_running);
    CHECK_EQ(count.load(), 1);
    CHECK_EQ(memory[0], 0);
    latch.open();
    synchronize(second);
    CHECK_EQ(memory[0], 1);
    CHECK_EQ(count.load(), 2);
    synchronize(idle);

    Latch in_legacy(nullptr, 0, true);
    host(first, add_one, &count);
    in_legacy.wait_reached();
    CHECK_EQ(driver->stream_query(0, first), kNotReady);
    CHECK_EQ(count.load(), 2);
    in_legacy.open();
    synchronize(first);
    CHECK_EQ(count.load(), 3);
    for (void *stream : {first, second, idle, free_running}) OK(driver->stream_destroy(0, stream));
    OK(driver->event_destroy(0, event));
    OK(driver->release(0, memory, 4096));
}

void devices_have_legacy_streams_of_their_own() {
    CHECK_EQ(device_count, 2);
    char *memory = allocate(64);
    void *there = make_stream(infinirtStreamDefault, 0, 1);
    Latch latch(there, 1);
    submit(nullptr, fill_work(memory, 3, 64));
    CHECK_EQ(memory[63], 3);  // inline: the other device is not waited for
    latch.open();
    synchronize(there, 1);
    OK(driver->stream_destroy(1, there));
    OK(driver->release(0, memory, 64));
}

// ---- Events -------------------------------------------------------------------------------------

void events_complete_when_their_record_does() {
    void *stream = make_stream(), *event = make_event();
    OK(driver->event_query(0, event));  // never recorded
    OK(driver->event_synchronize(0, event));
    Latch latch(stream);
    record(stream, event);
    CHECK_EQ(driver->event_query(0, event), kNotReady);
    latch.open();
    OK(driver->event_synchronize(0, event));
    OK(driver->event_query(0, event));
    record(stream, event);
    synchronize(stream);
    OK(driver->event_query(0, event));

    void *sleeper = make_event(infinirtEventBlockingSync);
    Latch again(stream);
    record(stream, sleeper);
    std::thread waiting([&] { OK(driver->event_synchronize(0, sleeper)); });
    again.open();
    waiting.join();
    for (void *each : {event, sleeper}) OK(driver->event_destroy(0, each));
    OK(driver->stream_destroy(0, stream));
}

// A wait means the record last submitted before it: later records change nothing for it.
void waits_are_bound_when_submitted() {
    void *a = make_stream(), *b = make_stream(), *c = make_stream(), *event = make_event();
    std::atomic<int> count{0};
    wait(c, event);  // never recorded: no wait
    host(c, add_one, &count);
    synchronize(c);
    CHECK_EQ(count.load(), 1);

    Latch first(a), second(b);
    record(a, event);
    wait(c, event);
    host(c, add_one, &count);
    record(b, event);
    second.open();
    OK(driver->event_synchronize(0, event));  // the record in b
    CHECK_EQ(driver->stream_query(0, c), kNotReady);
    CHECK_EQ(count.load(), 1);
    first.open();
    synchronize(c);
    CHECK_EQ(count.load(), 2);
    for (void *stream : {a, b, c}) OK(driver->stream_destroy(0, stream));
    OK(driver->event_destroy(0, event));
}

void events_order_devices() {
    void *here = make_stream(), *there = make_stream(infinirtStreamNonBlocking, 0, 1);
    void *event = make_event();
    std::atomic<int> count{0};
    Latch latch(here);
    record(here, event);
    wait(there, event, 1);
    host(there, add_one, &count, 1);
    CHECK_EQ(driver->stream_query(1, there), kNotReady);
    latch.open();
    OK(driver->device_synchronize(1));
    CHECK_EQ(count.load(), 1);
    OK(driver->stream_destroy(0, here));
    OK(driver->stream_destroy(1, there));
    OK(driver->event_destroy(0, event));
}

void elapsed_time() {
    void *stream = make_stream(), *start = make_event(), *end = make_event();
    void *untimed = make_event(infinirtEventDisableTiming);
    float ms = -1;
    CHECK_EQ(driver->event_elapsed(start, end, &ms), infinirtErrorInvalidResourceHandle);
    CHECK(explanation.find("never recorded") != std::string::npos);
    record(stream, start);
    Latch latch(stream);
    record(stream, end);
    CHECK_EQ(driver->event_elapsed(start, end, &ms), kNotReady);
    latch.open();
    synchronize(stream);
    OK(driver->event_elapsed(start, end, &ms));
    CHECK(ms >= 0 && ms < 60'000);
    float back = 0;
    OK(driver->event_elapsed(end, start, &back));
    CHECK(back == -ms);
    record(stream, untimed);
    CHECK_EQ(driver->event_elapsed(start, untimed, &ms), infinirtErrorInvalidResourceHandle);
    for (void *event : {start, end, untimed}) OK(driver->event_destroy(0, event));
    OK(driver->stream_destroy(0, stream));
}

// ---- Copies and fills ---------------------------------------------------------------------------

void boxes_match_plain_loops() {
    std::mt19937 random = random_numbers();
    constexpr size_t kBytes = 3 << 20;
    char *src = allocate(kBytes), *dst = allocate(kBytes);
    std::vector<char> expected(kBytes);
    for (size_t i = 0; i < kBytes; ++i) src[i] = char(random());
    auto between = [&](size_t low, size_t high) { return low + random() % (high - low + 1); };
    for (int round = 0; round < 200; ++round) {
        InfiniWork work{};
        size_t element = size_t(1) << between(0, 2);
        size_t width = between(1, round % 2 ? 40 : 9000), height = between(1, 9),
               depth = between(1, 5);
        size_t bytes = width * element, pitch = bytes + between(0, 1) * between(1, 50);
        size_t slice = pitch * height + between(0, 1) * between(1, 50), start = between(0, 64);
        if (start + slice * depth > kBytes) continue;
        memset(dst, 0, kBytes);
        std::fill(expected.begin(), expected.end(), 0);
        uint32_t value = random();
        if (round % 3 == 0) {
            work.kind = INFINI_WORK_COPY;
            work.as.copy = {dst + start, src,   bytes,          height, depth, pitch,
                            slice,       bytes, bytes * height, 0,      0};
        } else {
            work.kind = INFINI_WORK_FILL;
            work.as.fill = {dst + start, value, uint32_t(element), width, height, depth,
                            pitch,       slice};
        }
        for (size_t z = 0; z < depth; ++z)
            for (size_t y = 0; y < height; ++y)
                for (size_t x = 0; x < bytes; ++x)
                    expected[start + z * slice + y * pitch + x] =
                        round % 3 == 0 ? src[(z * height + y) * bytes + x]
                                       : char(value >> (8 * (x % element)));
        submit(nullptr, work);
        CHECK(memcmp(dst, expected.data(), kBytes) == 0);
    }
    OK(driver->release(0, src, kBytes));
    OK(driver->release(0, dst, kBytes));
}

void large_copies_use_threads_and_are_right() {
    constexpr size_t kBytes = (40 << 20) + 12345;
    char *src = allocate(kBytes), *dst = allocate(kBytes), *other = allocate(kBytes);
    for (size_t i = 0; i < kBytes; ++i) src[i] = char(i * 2654435761u >> 13);
    void *a = make_stream(), *b = make_stream();
    submit(a, copy_work(dst, src, kBytes));
    submit(b, copy_work(other + 1, src, kBytes - 1));
    synchronize(a);
    synchronize(b);
    CHECK(memcmp(dst, src, kBytes) == 0);
    CHECK(memcmp(other + 1, src, kBytes - 1) == 0);
    submit(nullptr, fill_work(dst, 0x11, kBytes));
    CHECK_EQ(dst[0], 0x11);
    CHECK(memcmp(dst, dst + 1, kBytes - 1) == 0);
    for (char *memory : {src, dst, other}) OK(driver->release(0, memory, kBytes));
    for (void *stream : {a, b}) OK(driver->stream_destroy(0, stream));
}

}  // namespace

int main() {
    setenv("INFINI_CPU_DEVICES", "2", 1);
    open_driver();
    RUN(work_runs_in_order);
    RUN(blocked_streams_leave_others_alone);
    RUN(destroyed_streams_finish_their_work);
    RUN(legacy_copy_is_inline_when_nothing_is_pending);
    RUN(legacy_and_blocking_streams_wait_for_each_other);
    RUN(devices_have_legacy_streams_of_their_own);
    RUN(events_complete_when_their_record_does);
    RUN(waits_are_bound_when_submitted);
    RUN(events_order_devices);
    RUN(elapsed_time);
    RUN(boxes_match_plain_loops);
    RUN(large_copies_use_threads_and_are_right);
    std::puts("all passed");
}
