#pragma once

#include <map>
#include <mutex>
#include <string>

#include "hopper.h"
#include "services.h"

namespace simulated {

struct Function;

// The code of a kernel: a host library made by the simulated NVRTC.
struct Module {
    void *library = nullptr;
    State *state = nullptr;
    // All variables of the kernel, which are its static shared memory.
    unsigned char *shared = nullptr;
    size_t shared_bytes = 0;
    Range constants{};     // all of it
    std::string name;      // of the program, for messages
    unsigned warp = 32;    // lanes of a warp, as it was compiled
    unsigned context = 0;  // that it was loaded in
    std::mutex lock;
    std::map<std::string, Function *> functions;
};

struct Function {
    Module *module = nullptr;
    std::string name;
    void (*entry)(const void *parameters) = nullptr;
    size_t parameter_bytes = 0;
    unsigned most_threads = 0;
    unsigned dynamic_allowed = 0;  // after cuFuncSetAttribute
};

// Null: the bytes are not such a library.
Module *load_module(const void *bytes);
void unload_module(Module *module);
// Null: it has no kernel of that name.
Function *find_function(Module &module, const std::string &name);

}  // namespace simulated
