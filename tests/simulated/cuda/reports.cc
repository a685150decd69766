#include <cstdio>
#include <string>

#include "executor.h"

namespace simulated {
namespace {

const char *describe(const Fiber &fiber, char *buffer, size_t bytes) {
    static const char *const kWords[] = {"__syncwarp", "a shuffle", "a vote",
                                         "__match",    "__reduce",  "a matrix instruction"};
    if (fiber.doing == Doing::kEnded) return "ended";
    if (fiber.doing == Doing::kReady) return "can run";
    if (fiber.doing == Doing::kBarrier && fiber.barrier == 0) return "wait at __syncthreads";
    if (fiber.doing == Doing::kBarrier)
        snprintf(buffer, bytes, "wait at barrier %u", fiber.barrier);
    else
        snprintf(buffer, bytes, "wait at %s of lanes 0x%08llx", kWords[int(fiber.meeting->what)],
                 fiber.meeting->mask);
    return buffer;
}

}  // namespace

void report(const char *text) {
    Executor &e = executor();
    const Position block = e.state->block;
    char where[96] = "";
    if (e.running) {
        const Position &t = e.running->position;
        snprintf(where, sizeof where, ", thread (%u,%u,%u)", t.x, t.y, t.z);
    }
    fprintf(stderr, "simulated CUDA: kernel %s (%s), block (%u,%u,%u)%s: %s\n",
            e.launch->function->name.c_str(), e.launch->function->module->name.c_str(), block.x,
            block.y, block.z, where, text);
}

void report_all() {
    Executor &e = executor();
    report("threads wait for others that never come");
    for (unsigned i = 0, end; i < e.threads; i = end) {
        char one[96], other[96];
        std::string what = describe(e.fibers[i], one, sizeof one);
        for (end = i + 1; end < e.threads; ++end)
            if (what != describe(e.fibers[end], other, sizeof other)) break;
        fprintf(stderr, "    threads %u to %u: %s\n", i, end - 1, what.c_str());
    }
}

[[noreturn]] void stop(int code, const char *text) {
    Executor &e = executor();
    report(text);
    e.failed = code;
    void *never;
    simulated_switch(&never, e.scheduler);
    __builtin_unreachable();
}

}  // namespace simulated
