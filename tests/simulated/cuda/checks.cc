// Checks every access of kernels that were compiled with INFINI_SIMULATED_CHECK.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>

#include "executor.h"

namespace simulated {
namespace {

// In device.cc: the allocation that contains an address.
using Find = bool (*)(uintptr_t, uintptr_t *, uintptr_t *);

Find allocations() {
    static const Find find = [] {
        Dl_info self;
        dladdr(reinterpret_cast<void *>(&allocations), &self);
        std::string path = self.dli_fname;
        path = path.substr(0, path.rfind('/') + 1) + "engine/backends/libinfini_simulated.so";
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
        return library ? reinterpret_cast<Find>(dlsym(library, "simulatedFindMemory")) : nullptr;
    }();
    return find;
}

bool covers(const Range &range, unsigned long address, unsigned long bytes) {
    return address >= range.start && address + bytes <= range.end;
}

Range range_of(const void *start, size_t bytes) {
    auto first = reinterpret_cast<unsigned long>(start);
    return {first, first + bytes};
}

[[noreturn]] void refuse(const char *what, unsigned long address, unsigned long bytes, bool write) {
    char text[256];
    snprintf(text, sizeof text, "%s %lu bytes at %#lx: %s", write ? "writes" : "reads", bytes,
             address, what);
    stop(infinirtErrorIllegalAddress, text);
}

}  // namespace

void begin_checks(Fiber &fiber) {
    Executor &e = executor();
    for (Range &range : e.state->known) range = {};
    auto end = reinterpret_cast<unsigned long>(e.stacks.end(fiber.index));
    e.state->known[0] = {end - Stacks::kBytes, end};
}

void check_access(unsigned long address, unsigned long bytes, bool write) {
    Executor &e = executor();
    const Launch &launch = *e.launch;
    const Module &module = *launch.function->module;
    const Find find = allocations();
    Range found{};
    unsigned char *const shared = e.state->dynamic_shared;
    if (covers(range_of(shared, launch.dynamic_bytes), address, bytes)) {
        found = range_of(shared, launch.dynamic_bytes);
    } else if (covers(range_of(module.shared, module.shared_bytes), address, bytes)) {
        found = range_of(module.shared, module.shared_bytes);
    } else if (covers(range_of(e.state, sizeof *e.state), address, bytes)) {
        return;
    } else if (!write && (covers(range_of(launch.parameters, launch.function->parameter_bytes),
                                 address, bytes) ||
                          covers(module.constants, address, bytes))) {
        return;
    } else if (find && find(address, &found.start, &found.end)) {
        if (!covers(found, address, bytes)) {
            char text[96];
            snprintf(text, sizeof text, "the allocation there has %lu bytes and begins %lu before",
                     found.end - found.start, address - found.start);
            refuse(text, address, bytes, write);
        }
    } else if (find && find(address - 1, &found.start, &found.end)) {
        char text[96];
        snprintf(text, sizeof text, "right behind an allocation of %lu bytes",
                 found.end - found.start);
        refuse(text, address, bytes, write);
    } else if (covers(range_of(shared, kMaxShared), address, bytes)) {
        refuse("behind the dynamic shared memory", address, bytes, write);
    } else if (e.stacks.holds(reinterpret_cast<void *>(address))) {
        refuse("local memory of another thread", address, bytes, write);
    } else {
        refuse("memory that the device does not have", address, bytes, write);
    }
    // The next accesses are probably near.
    static unsigned turn = 0;
    e.state->known[1 + turn++ % 3] = found;
}

void check_type(const char *file, unsigned line, unsigned long address, unsigned alignment) {
    char text[512];
    snprintf(text, sizeof text, "%s:%u uses %#lx as what must be a multiple of %u", file, line,
             address, alignment);
    stop(infinirtErrorMisalignedAddress, text);
}

}  // namespace simulated
