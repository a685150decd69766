// The CPU back end, fork(), and the end of the process.
#include <cstring>
#include <thread>

#include "cpu_process.h"

// Only read by the thread sanitizer: the tests below do start threads in forked children.
extern "C" const char *__tsan_default_options() { return "die_after_fork=0"; }

namespace {

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

// Forks while other threads are anywhere, including inside locks.
void forks_amid_traffic() {
#if defined(__SANITIZE_ADDRESS__)
    return;  // its allocator is not safe to fork: a child may hang in malloc, whatever else it uses
#endif
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
                alarm(kSeconds);  // and return: the rest of the stream belongs to the parent
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

}  // namespace

int main(int count, char **arguments) {
    open_driver();
    if (count > 1 && std::string(arguments[1]) == "exit-with-work-pending")
        return exit_with_work_pending();
    RUN(use_device);
    RUN(a_forked_child_has_a_fresh_device);
    RUN(forks_amid_traffic);
    RUN(a_host_function_may_fork);
    RUN(exit_does_not_wait);
    std::puts("all passed");
}
