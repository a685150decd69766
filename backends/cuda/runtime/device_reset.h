// Loss of a device: by a reset, or because this is a forked child, which cannot use the devices of
// its parent.
#pragma once

#include "../libraries.h"

namespace infini::cuda {

// Operators have code and library handles on a device. When it is lost, they are refused.
void note_operators(int device);
bool lost_operators(int device);
Error refuse_operators(int device);

// Called before the reset: others read it concurrently.
void note_reset(int device);
void note_refused_reset(int device, bool had_lost_operators);

// Called on first use of a device: a forked child has neither the compile and watch threads, nor
// their locks in a usable state, nor any device.
void watch_forks();

// Stored with resources on a device, which must not be used once the device is lost.
class Kept {
public:
    explicit Kept(int device);
    bool is_lost() const;

private:
    const int device_;
    const unsigned times_;
};

// The reason, and what to do; empty: nothing was lost.
const char *how_lost(int device);
bool is_forked();
unsigned count_resets();  // of all devices

}  // namespace infini::cuda
