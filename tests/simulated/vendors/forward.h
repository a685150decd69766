// Functions of a simulated vendor's library that are a function of the core (core/, which passes
// for CUDA) under another name: a jump, whatever their parameters are.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace simulated {

// A symbol of a library in core/ beside this one.
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

struct Slot {
    Slot(void *&slot, const char *library, const char *name) { slot = core_symbol(library, name); }
};

}  // namespace simulated

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

#if defined(__x86_64__)
#define SIMULATED_JUMP(slot) "jmp *" #slot "(%rip)\n"
#elif defined(__aarch64__)
#define SIMULATED_JUMP(slot) "adrp x16, " #slot "\nldr x16, [x16, :lo12:" #slot "]\nbr x16\n"
#endif

#define SIMULATED_FORWARD(name, library, core)                                                 \
    extern "C" {                                                                               \
    __attribute__((visibility("hidden"), used)) void *slot_##name = nullptr;                   \
    }                                                                                          \
    static const ::simulated::Slot fill_##name(slot_##name, library, #core);                   \
    asm(".pushsection .text\n.globl " #name "\n.type " #name ", %function\n.balign 16\n" #name \
        ":\n" SIMULATED_JUMP(slot_##name) ".size " #name ", .-" #name "\n.popsection\n");
