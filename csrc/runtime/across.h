// Interaction between the core's objects and those of back ends with native handles.
#pragma once

#include "copy.h"

namespace infini::rt {

// The device of an event that a back end created itself; null if no such event is known.
Device *device_of_event(infinirtEvent_t event);

// Memory that the core did not allocate: is it on a device of a back end with its own allocation
// records? The query may initialise the device: it is made for addresses that cannot be anything
// else, or only for back ends that some thread uses.
bool find_elsewhere(const void *pointer, Operand *operand, bool only_used = false);

// Can the host dereference the device's pointers?
inline bool is_host(const Device &device) {
    return device.info.integrated && device.info.host_pointers_usable;
}

// A copy in a stream of the core whose other side is on another device type.
Error copy_across(Call &call, const CopyPlan &plan, Stream &stream);

}  // namespace infini::rt
