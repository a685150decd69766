// What of a device is gone: by a reset, or because this is the child of a fork, which cannot use
// the devices of its parent.
#pragma once

#include "../libraries.h"

namespace infini::cuda {

// Operators have code and handles of libraries on a device. When it is lost, they are refused.
void note_operators(int device);
bool lost_operators(int device);
Error refuse_operators(int device);

// Before the reset: others read it while they work.
void note_reset(int device);
void note_refused_reset(int device, bool had_lost_operators);

// From the first use of a device on: a child has neither the threads that compile or watch, nor
// what they have locked, and no device at all.
void watch_forks();

// Whoever keeps something on a device has one of these beside it, and leaves it alone once it is
// lost.
class Kept {
public:
    explicit Kept(int device);
    bool is_lost() const;

private:
    const int device_;
    const unsigned times_;
};

// Why, and what to do; empty: nothing was lost.
const char *how_lost(int device);
bool is_forked();
unsigned count_resets();  // of all devices

}  // namespace infini::cuda
