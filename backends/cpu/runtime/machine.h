// What this machine is: read from the system once, or each time for what changes.
#pragma once

#include <cstddef>

namespace infini::cpu {

struct MachineFacts {
    char name[256];
    unsigned char id[16];  // the same on every start
    int cores;             // that this process may use
    int clock_khz;
    int l2_bytes;
    size_t cache_bytes;  // of the last level
    int major, minor;    // x86-64-v<major>, or Armv<major>
};
const MachineFacts &machine();

// Processors whose time the control groups around this process grant, rounded up; many where there
// is no limit.
size_t processor_quota();

// Physical memory, or less where a control group allows less.
size_t memory_total();
// What could be allocated now without swapping.
size_t memory_available();

}  // namespace infini::cpu
