// Facts about this machine: read from the system once, or each time if they can change.
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

// The number of processors granted by the control groups of this process, rounded up; a large
// number if there is no limit.
size_t processor_quota();

// Physical memory, or the limit of a control group.
size_t memory_total();
// Memory that could be allocated now without swapping.
size_t memory_available();

}  // namespace infini::cpu
