// Where the core's objects meet those of back ends whose handles are their own.
#pragma once

#include "copy.h"

namespace infini::rt {

// The device of an event that a back end made itself; null when no such event is known.
Device *device_of_event(infinirtEvent_t event);

// Memory that the core did not allocate: does it lie on a device of a back end that keeps its own
// record? Asking may set its device up: for addresses that cannot be anything else, or with only
// back ends that some thread uses.
bool find_elsewhere(const void *pointer, Operand *operand, bool only_used = false);

// Does the host follow the device's pointers?
inline bool is_host(const Device &device) {
    return device.info.integrated && device.info.host_pointers_usable;
}

// A copy in a stream of the core whose other side lies on another device type.
Error copy_across(Call &call, const CopyPlan &plan, Stream &stream);

}  // namespace infini::rt
