// The CPU back end between processes, and its device and memory information.
#include <cstring>

#include "cpu_process.h"

namespace {

constexpr unsigned kShared = infinirtEventInterprocess | infinirtEventDisableTiming;

std::string to_hex(const void *bytes, size_t size) {
    std::string text;
    char digits[3];
    for (size_t i = 0; i < size; ++i) {
        snprintf(digits, sizeof digits, "%02x", static_cast<const unsigned char *>(bytes)[i]);
        text += digits;
    }
    return text;
}

template <class Handle>
Handle from_hex(const char *text) {
    Handle handle;
    for (size_t i = 0; i < sizeof handle; ++i) {
        unsigned byte = 0;
        CHECK(sscanf(text + 2 * i, "%2x", &byte) == 1);
        reinterpret_cast<unsigned char *>(&handle)[i] = static_cast<unsigned char>(byte);
    }
    return handle;
}

// ---- Between processes --------------------------------------------------------------------------

void memory_is_shared_between_processes() {
    constexpr size_t kBytes = 5 << 20;
    char *memory = allocate(kBytes);
    memset(memory, 17, kBytes);
    infinirtIpcMemHandle_t handle, again;
    OK(driver->memory_export(0, memory, kBytes, &handle));
    OK(driver->memory_export(0, memory, kBytes, &again));
    CHECK(memcmp(&handle, &again, sizeof handle) == 0);
    CHECK_EQ(memory[kBytes - 1], 17);
    CHECK_EQ(finish(run_self({"use-memory", to_hex(&handle, sizeof handle)})), 0);
    CHECK_EQ(memory[kBytes - 1], 18);  // written by the other process
    OK(driver->release(0, memory, kBytes));

    void *imported = nullptr;
    size_t bytes = 0;
    CHECK_EQ(driver->memory_import(0, &handle, &imported, &bytes),
             infinirtErrorInvalidResourceHandle);
    CHECK(explanation.find("process") != std::string::npos);
    memset(&handle, 1, sizeof handle);
    CHECK_EQ(driver->memory_import(0, &handle, &imported, &bytes), infinirtErrorInvalidValue);
}

int use_memory(const char *text) {
    auto handle = from_hex<infinirtIpcMemHandle_t>(text);
    void *memory = nullptr;
    size_t bytes = 0;
    OK(driver->memory_import(0, &handle, &memory, &bytes));
    CHECK_EQ(bytes, 5 << 20);
    CHECK_EQ(static_cast<char *>(memory)[bytes - 1], 17);
    submit(nullptr, fill_work(memory, 18, bytes));
    OK(driver->memory_close(0, memory, bytes));
    return 0;
}

// The child records what the parent recorded behind a latch; neither holds a thread of the other.
void events_order_processes() {
    void *stream = make_stream(), *there = make_event(kShared), *back = make_event(kShared);
    infinirtIpcEventHandle_t handles[2];
    OK(driver->event_export(there, &handles[0]));
    OK(driver->event_export(back, &handles[1]));
    char *memory = allocate(4096);
    infinirtIpcMemHandle_t shared;
    OK(driver->memory_export(0, memory, 4096, &shared));

    Latch latch(stream);
    record(stream, there);
    CHECK_EQ(driver->event_query(0, there), infinirtErrorNotReady);
    int ends[2];
    CHECK_EQ(pipe(ends), 0);
    pid_t child = run_self({"use-events", to_hex(&handles[0], sizeof handles[0]),
                            to_hex(&handles[1], sizeof handles[1]), to_hex(&shared, sizeof shared),
                            std::to_string(ends[1])});
    char ready;
    CHECK_EQ(read(ends[0], &ready, 1), 1);  // the child has queued wait, fill, record
    CHECK_EQ(driver->event_query(0, back), infinirtErrorNotReady);
    CHECK_EQ(memory[0], 0);
    void *other = make_stream();
    wait(other, back);
    std::atomic<int> count{0};
    host(other, add_one, &count);
    latch.open();
    OK(driver->event_synchronize(0, back));
    CHECK_EQ(memory[0], 33);
    synchronize(other);
    CHECK_EQ(count.load(), 1);
    CHECK_EQ(finish(child), 0);
    for (int end : ends) close(end);
    for (void *each : {stream, other}) OK(driver->stream_destroy(0, each));
    for (void *event : {there, back}) OK(driver->event_destroy(0, event));
    OK(driver->release(0, memory, 4096));

    void *plain = make_event(), *made = nullptr;
    CHECK_EQ(driver->event_export(plain, &handles[0]), infinirtErrorInvalidResourceHandle);
    CHECK_EQ(driver->event_import(0, &handles[1], &made), infinirtErrorInvalidResourceHandle);
    CHECK_EQ(driver->event_create(0, infinirtEventInterprocess, &made), infinirtErrorInvalidValue);
    OK(driver->event_destroy(0, plain));
}

int use_events(char **arguments) {
    auto there = from_hex<infinirtIpcEventHandle_t>(arguments[0]);
    auto back = from_hex<infinirtIpcEventHandle_t>(arguments[1]);
    auto shared = from_hex<infinirtIpcMemHandle_t>(arguments[2]);
    void *first = nullptr, *second = nullptr, *memory = nullptr;
    size_t bytes = 0;
    OK(driver->event_import(0, &there, &first));
    OK(driver->event_import(0, &back, &second));
    OK(driver->memory_import(0, &shared, &memory, &bytes));
    void *stream = make_stream();
    wait(stream, first);
    submit(stream, fill_work(memory, 33, bytes));
    record(stream, second);
    CHECK_EQ(write(atoi(arguments[3]), "r", 1), 1);
    synchronize(stream);
    OK(driver->event_destroy(0, first));
    OK(driver->event_destroy(0, second));
    return 0;
}

// Records of a process that died count as complete, because no other process will complete them.
void a_dead_recorder_holds_nobody_up() {
    void *event = make_event(kShared);
    infinirtIpcEventHandle_t handle;
    OK(driver->event_export(event, &handle));
    pid_t child = run_self({"die-with-event", to_hex(&handle, sizeof handle)});
    siginfo_t info;
    CHECK_EQ(waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT), 0);  // left a zombie
    OK(driver->event_synchronize(0, event));
    CHECK_EQ(finish(child), 0);
    OK(driver->event_destroy(0, event));
}

int die_with_event(const char *text) {
    auto handle = from_hex<infinirtIpcEventHandle_t>(text);
    void *event = nullptr;
    OK(driver->event_import(0, &handle, &event));
    static Latch latch;
    void *stream = make_stream();
    host(stream, Latch::hold, &latch);
    record(stream, event);
    _exit(0);
}

// ---- Memory and settings ------------------------------------------------------------------------

void running_out_of_memory_is_an_error() {
    size_t free_before = 0, free_after = 0, total = 0;
    OK(driver->device_memory(0, &free_before, &total));
    CHECK(free_before > 0 && free_before <= total);
    void *memory = nullptr;
    for (size_t bytes : {SIZE_MAX, SIZE_MAX - 4096, total + 1, size_t(1) << 62}) {
        explanation.clear();
        CHECK_EQ(driver->allocate(0, bytes, &memory), infinirtErrorMemoryAllocation);
        CHECK(!explanation.empty());
        CHECK_EQ(driver->allocate_host(bytes, 0, &memory), infinirtErrorMemoryAllocation);
    }
    size_t half = total / 2 + 4096;
    if (driver->allocate(0, half, &memory) ==
        infinirtSuccess) {  // not touched, so it costs nothing
        void *more = nullptr;
        CHECK_EQ(driver->allocate(0, half, &more), infinirtErrorMemoryAllocation);
        OK(driver->device_memory(0, &free_after, &total));
        CHECK(free_after < free_before);
        OK(driver->release(0, memory, half));
    }
    for (size_t bytes : {size_t(1), size_t(5000), size_t(6) << 20}) {
        char *each = allocate(bytes);
        CHECK_EQ(reinterpret_cast<uintptr_t>(each) % (bytes < (4 << 20) ? 4096 : 2 << 20), 0);
        each[bytes - 1] = 1;
        OK(driver->release(0, each, bytes));
        OK(driver->allocate_host(bytes, 0, &memory));
        static_cast<char *>(memory)[bytes - 1] = 1;
        OK(driver->release_host(memory, bytes));
        OK(driver->allocate_managed(0, bytes, &memory));
        OK(driver->release(0, memory, bytes));
    }
    use_device();
}

void the_device_knows_what_it_is() {
    InfiniDeviceInfo info{};
    info.size = sizeof info;
    OK(driver->device_info(0, &info));
    CHECK(*info.name && info.memory_bytes > 0 && info.multiprocessors >= 1);
    CHECK(info.clock_khz > 100'000 && info.clock_khz < 10'000'000);
    std::printf("  %s, %d cores, %d MHz, L2 %d KiB, version %d, %zu MiB\n", info.name,
                info.multiprocessors, info.clock_khz / 1000, info.l2_bytes >> 10, info.major,
                info.memory_bytes >> 20);
    int can = -1;
    OK(driver->peer_access(0, 1, &can));
    CHECK_EQ(can, 1);
}

void the_number_of_devices_is_a_setting() {
    for (const char *bad : {"0", "-1", "many", "2x", "99999999999999999999"}) {
        setenv("INFINI_CPU_DEVICES", bad, 1);
        CHECK_EQ(finish(run_self({"count-devices", "1", "INFINI_CPU_DEVICES"})), 0);
    }
    setenv("INFINI_CPU_DEVICES", "7", 1);
    CHECK_EQ(finish(run_self({"count-devices", "7", ""})), 0);
    unsetenv("INFINI_CPU_DEVICES");
    CHECK_EQ(finish(run_self({"count-devices", "1", ""})), 0);
}

}  // namespace

int main(int count, char **arguments) {
    open_driver();
    std::string mode = count > 1 ? arguments[1] : "";
    if (mode == "use-memory") return use_memory(arguments[2]);
    if (mode == "use-events") return use_events(arguments + 2);
    if (mode == "die-with-event") return die_with_event(arguments[2]);
    if (mode == "count-devices") {
        CHECK_EQ(device_count, atoi(arguments[2]));
        CHECK(std::string(probe_reason).find(arguments[3]) == 0);
        return 0;
    }
    RUN(the_device_knows_what_it_is);
    RUN(memory_is_shared_between_processes);
    RUN(events_order_processes);
    RUN(a_dead_recorder_holds_nobody_up);
    RUN(running_out_of_memory_is_an_error);
    RUN(the_number_of_devices_is_a_setting);
    std::puts("all passed");
}
