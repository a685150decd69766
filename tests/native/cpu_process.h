// Children of a test: forked ones, and new processes that run the test program again.
#pragma once

#include <execinfo.h>
#include <signal.h>
#include <sys/wait.h>

#include <functional>
#include <vector>

#include "cpu_driver.h"

constexpr unsigned kSeconds = 60;  // a hanging child prints where, and ends

inline void expect_end_in_time() {
    signal(SIGALRM, [](int) {
        void *frames[64];
        backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
        _exit(99);
    });
    alarm(kSeconds);
}

inline int finish(pid_t child) {
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

inline pid_t in_child(const std::function<void()> &body) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0) return child;
    expect_end_in_time();
    body();
    _exit(0);
}

// This program again, in a new process, with `arguments`; see main.
inline pid_t run_self(std::vector<std::string> arguments, int input = -1) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0) return child;
    alarm(kSeconds);
    if (input >= 0) dup2(input, 0);
    std::vector<char *> argv = {const_cast<char *>("test")};
    for (std::string &argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(127);
}

// Exercises a device from scratch.
inline void use_device() {
    std::atomic<int> count{0};
    char *a = allocate(8 << 20), *b = allocate(8 << 20);
    void *stream = make_stream(), *blocking = make_stream(infinirtStreamDefault),
         *event = make_event();
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
