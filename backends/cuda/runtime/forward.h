// The functions of the aligned face by the vendor's own. The table of them is generated from spec/:
// which symbol a library of toolkit 12 has, which one of 13, and the adapter where 13 has
// another form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "libraries.h"

namespace infini::cuda {

struct Forward {
    const char *word;                 // "Memcpy"
    const char *symbol12, *symbol13;  // without the prefix; null: there is none
    void *call;                       // what the core gets, of the declared type
    void *adapter13;                  // takes what 12.9 declares, calls what 13 has; null: the same
};

extern const Forward forwards[];
extern const size_t forward_count;
extern void *vendor_functions[];  // by index: what the library has; null: nothing
extern void *forward_targets[];   // that, or the adapter before it

// Fills the two from the library that was found.
void find_vendor_functions();

// The function for the core, by its word; null for one that is not forwarded.
void *forwarded(const char *word);

// The vendor's function with the declared type, by its word; null when the library has none.
void *target(const char *word);

// The library has no such function: says so.
Error absent(const char *word);

// ---- For the generated table --------------------------------------------------------------------

// The device that this thread's calls go to, as the core chose it: other libraries in the process
// have a device of their own.
int chosen_device();

template <size_t kIndex, class... Parameters>
Error forward(Parameters... arguments) {
    using Function = int (*)(Parameters...);
    auto function = reinterpret_cast<Function>(forward_targets[kIndex]);
    if (!function) [[unlikely]]
        return absent(forwards[kIndex].word);
    OnDevice here(chosen_device());
    int code = function(arguments...);
    if (code == 0) [[likely]]
        return infinirtSuccess;
    return check(Part::kRuntime, code, forwards[kIndex].word);
}

template <size_t kIndex, class... Parameters>
void *through(Error (*)(Parameters...)) {
    return reinterpret_cast<void *>(&forward<kIndex, Parameters...>);
}

template <class Function>
Function *vendor_function(size_t index) {
    return reinterpret_cast<Function *>(vendor_functions[index]);
}

template <class T>
void move(T &to, const T &from) {
    memcpy(&to, &from, sizeof to);
}

inline infinirtMemLocation location_of(int device) {
    infinirtMemLocation location{};
    location.type =
        device == infinirtCpuDeviceId ? infinirtMemLocationTypeHost : infinirtMemLocationTypeDevice;
    location.id = device == infinirtCpuDeviceId ? 0 : device;
    return location;
}

int attribute(infinirtDeviceAttr attribute, int device);  // 0: unknown

}  // namespace infini::cuda
