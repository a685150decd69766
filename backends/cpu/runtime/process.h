// Per-process state, which a forked child replaces.
//
// fork() copies memory but not threads: in the child there are no workers, and any lock may be held
// forever. So the child abandons all of it and starts with a new Process. Streams and events
// remember the generation in which they were created. Memory belongs to no generation and stays
// usable. Nothing here is ever destroyed: worker threads use it until the process exits.
#pragma once

#include <atomic>

#include "device.h"
#include "setting.h"
#include "thread_pool.h"
#include "ticket.h"
#include "workers.h"

namespace infini::cpu {

constexpr int kMaxDevices = int(kDeviceSetting.most);

struct Process {
    int device_count = 0;
    Device *devices[kMaxDevices] = {};
    Tickets tickets;
    Workers workers;
    ThreadPool pool;
    std::atomic<int> lapack_calls{0};
    Process *parent = nullptr;  // keeps what was abandoned reachable, for leak checkers
};

extern Process *process;

// Called once by probe.
void start_process(int device_count);

inline Device &device_at(int index) { return *process->devices[index]; }

}  // namespace infini::cpu
