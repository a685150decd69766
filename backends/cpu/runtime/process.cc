#include "process.h"

#include <pthread.h>

#include "memory.h"

namespace infini::cpu {

unsigned fork_generation = 0;
Process *process = nullptr;

namespace {

void replace_process(int device_count) {
    auto *fresh = new Process;
    fresh->device_count = device_count;
    fresh->parent = process;
    if (process) fresh->pool.set_limit(process->pool.limit());
    process = fresh;
    for (int i = 0; i < device_count; ++i) fresh->devices[i] = new Device(i);
}

void after_fork_in_child() {
    ++fork_generation;
    replace_process(process->device_count);
    memory_unlock_after_fork();
}

}  // namespace

void start_process(int device_count) {
    replace_process(device_count);
    pthread_atfork(memory_lock_for_fork, memory_unlock_after_fork, after_fork_in_child);
}

}  // namespace infini::cpu
