// Forwarding of the aligned face to the vendor's functions. The table is generated from spec/: the
// symbol in a library of toolkit 12, the one in 13, and the adapter if the form changed in 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "libraries.h"

namespace infini::cuda {

struct Forward {
    const char *word;                 // name without prefix: "Memcpy"
    const char *symbol12, *symbol13;  // without the prefix; null: there is none
    void *call;                       // the function for the core, with the declared type
    void *adapter13;                  // adapter from 12.9's declaration to 13's; null: identical
};

extern const Forward forwards[];
extern const size_t forward_count;
extern void *vendor_functions[];  // by index: the library's function; null: missing
extern void *forward_targets[];   // that function, or the adapter that calls it

// Fills both from the loaded library.
void find_vendor_functions();

// The function for the core, by name; null if it is not forwarded.
void *forwarded(const char *word);

// The vendor's function with the declared type, by name; null if the library has none.
void *target(const char *word);

// Sets the error for a function missing in the library.
Error absent(const char *word);

// ---- For the generated table --------------------------------------------------------------------

// The device for this thread's calls, chosen by the core: other libraries in the process may use a
// different one.
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
