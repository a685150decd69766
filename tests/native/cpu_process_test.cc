// The CPU back end and processes: fork(), exit with work pending, sharing memory and events, running out of memory.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "cpu_driver.h"

// Only read by the thread sanitizer: the tests below do start threads in forked children.
extern "C" const char *__tsan_default_options() { return "die_after_fork=0"; }

namespace {

constexpr unsigned kShared = infinirtEventInterprocess | infinirtEventDisableTiming;
constexpr unsigned kSeconds = 60;  // a child that hangs is killed

int finish(pid_t child) {
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

pid_t in_child(const std::function<void()> &body) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0) return child;
    alarm(kSeconds);
    body();
    _exit(0);
}

// This program again, in a new process, with `arguments`; see main.
pid_t run_self(std::vector<std::string> arguments, int input = -1) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0) return child;
    alarm(kSeconds);
    if (input >= 0) dup2(input, 0);
    std::vector<char *> argv = {const_cast<char *>("cpu_process_test")};
    for (std::string &argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(127);
}

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

// Exercises a device from scratch.
void use_device() {
    std::atomic<int> count{0};
    char *a = allocate(8 << 20), *b = allocate(8 << 20);
    void *stream = make_stream(), *blocking = make_stream(infinirtStreamDefault), *event = make_event();
    submit(stream, fill_work(a, 9, 8 << 20));
    record(stream, event);
    wait(blocking, event);
    host(blocking, add_one, &count);
    submit(nullptr, copy_work(b, a, 8 << 20));  // waits for `blocking`
    host(nullptr, add_one, &count);
    synchronize(nullptr);
    OK(driver->device_synchronize(0));
    CHECK_EQ(count.load(), 2);
    CHECK_EQ(b[(8 << 20) - 1], 9);
    for (void *each : {stream, blocking}) OK(driver->stream_destroy(0, each));
    OK(driver->event_destroy(0, event));
    for (char *each : {a, b}) OK(driver->release(0, each, 8 << 20));
}

// ---- fork() -------------------------------------------------------------------------------------

void expect_made_before_fork(infinirtError_t error) {
    CHECK_EQ(error, infinirtErrorInitializationError);
    CHECK(explanation.find("before fork()") != std::string::npos);
}

void a_forked_child_has_a_fresh_device() {
    char *memory = allocate(4096);
    memset(memory, 42, 4096);
    void *stream = make_stream(infinirtStreamDefault), *event = make_event();
    std::atomic<int> count{0};
    Latch latch(stream);
    record(stream, event);
    host(nullptr, add_one, &count);  // pending, in the legacy stream
    latch.wait_reached();
    pid_t child = in_child([&] {
        InfiniWork work = host_work(add_one, &count), again = event_work(INFINI_WORK_RECORD, event);
        expect_made_before_fork(driver->submit(0, stream, &work, 1));
        expect_made_before_fork(driver->stream_query(0, stream));
        expect_made_before_fork(driver->stream_synchronize(0, stream));
        expect_made_before_fork(driver->stream_destroy(0, stream));
        expect_made_before_fork(driver->event_query(0, event));
        expect_made_before_fork(driver->event_synchronize(0, event));
        expect_made_before_fork(driver->event_destroy(0, event));
        expect_made_before_fork(driver->submit(0, nullptr, &again, 1));
        OK(driver->stream_query(0, nullptr));
        OK(driver->device_synchronize(0));
        CHECK_EQ(memory[4095], 42);
        use_device();
        OK(driver->release(0, memory, 4096));
        CHECK_EQ(finish(in_child(use_device)), 0);  // a child of the child
    });
    CHECK_EQ(finish(child), 0);
    CHECK_EQ(count.load(), 0);
    CHECK_EQ(driver->stream_query(0, stream), infinirtErrorNotReady);
    latch.open();
    OK(driver->device_synchronize(0));
    CHECK_EQ(count.load(), 1);
    OK(driver->event_query(0, event));
    OK(driver->stream_destroy(0, stream));
    OK(driver->event_destroy(0, event));
    OK(driver->release(0, memory, 4096));
}

// Wherever other threads are, locks included, when one forks.
void forks_amid_traffic() {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            while (!stop.load()) use_device();
        });
    for (int i = 0; i < 20; ++i) CHECK_EQ(finish(in_child(use_device)), 0);
    stop.store(true);
    for (std::thread &thread : threads) thread.join();
}

void a_host_function_may_fork() {
    struct Forker {
        pid_t child = -1;
        static void run(void *self) {
            pid_t child = fork();
            if (child == 0)
                alarm(kSeconds);  // and return: what follows in the stream is the parent's
            else
                static_cast<Forker *>(self)->child = child;
        }
    } forker;
    static std::atomic<int> runs{0};
    void *stream = make_stream();
    host(stream, Forker::run, &forker);
    host(stream, [](void *) { runs.fetch_add(1); }, nullptr);
    synchronize(stream);
    CHECK_EQ(runs.load(), 1);
    CHECK_EQ(finish(forker.child), 0);
    OK(driver->stream_destroy(0, stream));
}

// ---- The end of the process ---------------------------------------------------------------------

// In a process of its own: main returns while streams are blocked, parked and copying.
int exit_with_work_pending() {
    static Latch latch;
    char *memory = allocate(64 << 20);
    static void *event = make_event();  // still referred to when leaks are looked for
    for (int i = 0; i < 8; ++i) {
        void *stream = make_stream(i % 2);
        if (i == 0) host(stream, Latch::hold, &latch);
        if (i == 0) record(stream, event);
        if (i == 1) wait(stream, event);
        for (int j = 0; j < 50; ++j)
            submit(stream, copy_work(memory + i * (4 << 20), memory + (32 << 20), 4 << 20));
    }
    latch.wait_reached();
    host(nullptr, Latch::hold, &latch);
    return 0;
}

void exit_does_not_wait() {
    for (int i = 0; i < 5; ++i) CHECK_EQ(finish(run_self({"exit-with-work-pending"})), 0);
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
    CHECK_EQ(driver->memory_import(0, &handle, &imported, &bytes), infinirtErrorInvalidResourceHandle);
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

// What a process recorded and died over counts as complete: nobody else will ever complete it.
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
    if (driver->allocate(0, half, &memory) == infinirtSuccess) {  // not touched, so it costs nothing
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
    if (mode == "exit-with-work-pending") return exit_with_work_pending();
    if (mode == "use-memory") return use_memory(arguments[2]);
    if (mode == "use-events") return use_events(arguments + 2);
    if (mode == "die-with-event") return die_with_event(arguments[2]);
    if (mode == "count-devices") {
        CHECK_EQ(device_count, atoi(arguments[2]));
        CHECK(std::string(probe_reason).find(arguments[3]) == 0);
        return 0;
    }
    RUN(the_device_knows_what_it_is);
    RUN(use_device);
    RUN(a_forked_child_has_a_fresh_device);
    RUN(forks_amid_traffic);
    RUN(a_host_function_may_fork);
    RUN(exit_does_not_wait);
    RUN(memory_is_shared_between_processes);
    RUN(events_order_processes);
    RUN(a_dead_recorder_holds_nobody_up);
    RUN(running_out_of_memory_is_an_error);
    RUN(the_number_of_devices_is_a_setting);
    std::puts("all passed");
}
