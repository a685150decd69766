#include <signal.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "executor.h"

namespace simulated {
namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
struct sigaction before[NSIG];

void on_signal(int number, siginfo_t *info, void *context) {
    Executor &e = executor();
    if (e.running && pthread_equal(e.thread, pthread_self())) {
        char text[128];
        if (e.stacks.is_guard(info->si_addr))
            snprintf(text, sizeof text, "its local variables need more than %zu KiB",
                     (Stacks::kBytes - Stacks::kGuard) >> 10);
        else
            snprintf(text, sizeof text, "%s at address %p", strsignal(number), info->si_addr);
        stop(infinirtErrorIllegalAddress, text);
    }
    const struct sigaction &old = before[number];
    if (old.sa_flags & SA_SIGINFO)
        old.sa_sigaction(number, info, context);
    else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN)
        old.sa_handler(number);
    else
        sigaction(number, &old, nullptr);  // and it happens again
}

}  // namespace

void watch_signals() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action{};
        action.sa_sigaction = on_signal;
        // A handler never returns to a kernel, so its signal must not stay blocked.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int number : kFaults) sigaction(number, &action, &before[number]);
    });
    // The threads that serve streams block all signals; a fault would then end the process.
    sigset_t faults;
    sigemptyset(&faults);
    for (int number : kFaults) sigaddset(&faults, number);
    pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
    // The stack of a fiber may be what is exhausted.
    thread_local std::unique_ptr<char[]> memory;
    stack_t stack{};
    if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
        constexpr size_t kBytes = size_t(64) << 10;
        if (!memory) memory = std::make_unique<char[]>(kBytes);
        stack = {};
        stack.ss_sp = memory.get();
        stack.ss_size = kBytes;
        sigaltstack(&stack, nullptr);
    }
}

}  // namespace simulated
