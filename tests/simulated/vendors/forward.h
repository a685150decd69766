// Functions of a simulated vendor's library that are a function of the core (core/, which passes
// for CUDA) under another name: a jump, whatever their parameters are. Calls are counted, and any
// function can be made to fail, as in the other simulated libraries (accelerator/core.h).
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace simulated {

// A symbol of a library in core/ next to this one.
inline void *core_symbol(const char *library, const char *name) {
    static const char inside = 0;
    Dl_info self;
    dladdr(&inside, &self);
    const std::string path = self.dli_fname;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    void *handle = nullptr;
    for (const char *place : {"core/", "../core/"})
        if (!handle) handle = dlopen((folder + place + library).c_str(), RTLD_NOW | RTLD_LOCAL);
    void *symbol = handle ? dlsym(handle, name) : nullptr;
    if (!symbol) {
        std::fprintf(stderr, "simulated library: %s\n", dlerror());
        std::abort();
    }
    return symbol;
}

// The record of a function. The jumps below depend on the offsets of the first four fields.
struct Slot {
    void *target = nullptr;
    std::atomic<long> calls{0};
    std::atomic<long> fails_at{0};  // this call; 0: none
    int code = 0;                   // with that
    const char *name = nullptr;
    Slot *next = nullptr;

    // Of functions with a body: the error to return, 0 for none.
    int begin() { return ++calls == fails_at ? code : 0; }
};
static_assert(offsetof(Slot, calls) == 8 && offsetof(Slot, fails_at) == 16 &&
              offsetof(Slot, code) == 24);

// All of this library.
inline Slot *&slots() {
    static Slot *first = nullptr;
    return first;
}

struct Known {
    Known(Slot &slot, const char *name) {
        slot.name = name;
        slot.next = slots();
        slots() = &slot;
    }
    Known(Slot &slot, const char *name, const char *library, const char *core) : Known(slot, name) {
        slot.target = core_symbol(library, core);
    }
};

inline Slot *find_slot(const char *name) {
    Slot *slot = slots();
    while (slot && std::strcmp(slot->name, name) != 0) slot = slot->next;
    return slot;
}

}  // namespace simulated

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

// For tests: the call after `after` others fails, once. 0: the library has no such function.
SIMULATED_EXPORT int simulated_fail(const char *function, int code, int after) {
    simulated::Slot *slot = simulated::find_slot(function);
    if (!slot) return 0;
    slot->code = code;
    slot->fails_at = slot->calls + after + 1;
    return 1;
}
SIMULATED_EXPORT long simulated_calls(const char *function) {
    simulated::Slot *slot = simulated::find_slot(function);
    return slot ? slot->calls.load() : -1;
}

// Counts, and then jumps or returns the code; uses only registers that hold no arguments.
#if defined(__x86_64__)
#define SIMULATED_JUMP(slot)                            \
    "movq $1, %r11\nlock xaddq %r11, " #slot            \
    "+8(%rip)\nincq %r11\n"                             \
    "cmpq " #slot "+16(%rip), %r11\nje 2f\njmp *" #slot \
    "(%rip)\n"                                          \
    "2: movl " #slot "+24(%rip), %eax\nret\n"
#elif defined(__aarch64__)
#define SIMULATED_JUMP(slot)                                                       \
    "adrp x16, " #slot "\nadd x16, x16, :lo12:" #slot                              \
    "\nadd x15, x16, #8\n"                                                         \
    "1: ldaxr x17, [x15]\nadd x17, x17, #1\nstlxr w14, x17, [x15]\ncbnz w14, 1b\n" \
    "ldr x14, [x16, #16]\ncmp x17, x14\nb.eq 2f\nldr x16, [x16]\nbr x16\n"         \
    "2: ldr w0, [x16, #24]\nret\n"
#endif

#define SIMULATED_FORWARD(name, library, core)                                                 \
    extern "C" {                                                                               \
    __attribute__((visibility("hidden"), used)) ::simulated::Slot slot_##name;                 \
    }                                                                                          \
    static const ::simulated::Known known_##name(slot_##name, #name, library, #core);          \
    asm(".pushsection .text\n.globl " #name "\n.type " #name ", %function\n.balign 16\n" #name \
        ":\n" SIMULATED_JUMP(slot_##name) ".size " #name ", .-" #name "\n.popsection\n");

// A function with a body; that begins with SIMULATED_BEGIN.
#define SIMULATED_KNOWN(name)             \
    static ::simulated::Slot slot_##name; \
    static const ::simulated::Known known_##name(slot_##name, #name);
#define SIMULATED_BEGIN(name) \
    if (const int code = slot_##name.begin()) return code
