// Every memory access is checked if the kernel is compiled with INFINI_SIMULATED_CHECK: the
// compiler calls these sanitizer functions before each load and store.
#pragma once

#include "barriers.h"

#ifdef INFINI_SIMULATED_CHECK
namespace simulated {

SIMULATED_UNCHECKED inline void look(size_t address, size_t bytes, bool write) {
    if (!state.services.check) return;
    bool known = false;
    for (const Range &range : state.known)
        known |= address >= range.start && address + bytes <= range.end;
    if (!known) state.services.check(address, bytes, write);
    // A random order: any thread may continue before this one.
    if (state.preempt && (state.preempt = state.preempt * 1664525u + 1013904223u | 1u) >> 26 == 0)
        state.services.preempt();
}

}  // namespace simulated

#define SIMULATED_LOOK(n)                                                           \
    extern "C" SIMULATED_UNCHECKED void __asan_load##n##_noabort(size_t address) {  \
        simulated::look(address, n, false);                                         \
    }                                                                               \
    extern "C" SIMULATED_UNCHECKED void __asan_store##n##_noabort(size_t address) { \
        simulated::look(address, n, true);                                          \
    }
SIMULATED_LOOK(1)
SIMULATED_LOOK(2)
SIMULATED_LOOK(4)
SIMULATED_LOOK(8)
SIMULATED_LOOK(16)
#undef SIMULATED_LOOK
extern "C" SIMULATED_UNCHECKED void __asan_loadN_noabort(size_t address, size_t bytes) {
    simulated::look(address, bytes, false);
}
extern "C" SIMULATED_UNCHECKED void __asan_storeN_noabort(size_t address, size_t bytes) {
    simulated::look(address, bytes, true);
}
extern "C" SIMULATED_UNCHECKED void __asan_handle_no_return() {}

// A struct of 16 bytes may be read as two of 8, so its alignment is checked in the source, as
// undefined behaviour.
namespace simulated {
struct Mismatch {
    const char *file;
    unsigned line, column;
    const void *type;
    unsigned char log_alignment, kind;
};
}  // namespace simulated
extern "C" SIMULATED_UNCHECKED void __ubsan_handle_type_mismatch_v1(
    const simulated::Mismatch *place, size_t address) {
    if (simulated::state.services.check)
        simulated::state.services.mismatch(place->file, place->line, address,
                                           1u << place->log_alignment);
}
#endif
