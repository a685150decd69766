// The names of one vendor. All that distinguishes NVIDIA from its look-alikes is in one such table:
// vendors/<kind>.cc defines `vendor`, and the rest of this folder is compiled once for all of them.
#pragma once

#include "libraries.h"

namespace infini::cuda {

constexpr int kUnrelated = -1;  // a number in a file's name that is not the toolkit's

// One library of the vendor's, opened at run time.
struct Library {
    const char *prefix;             // of its functions
    const char *const *names;       // files to try, the best first; ends with null; null: none
    const char *const *companions;  // patterns of files beside it that it opens by their plain
                                    // names, so they must be there before; null: none
    int toolkit_offset;             // ".so.12" with 1 needs a driver that knows toolkit 13;
                                    // kUnrelated: any driver
    const char *use;                // what it is for, in words: "the runtime library"
};

// A function that does not have the name that prefix and word make.
struct Rename {
    Part part;
    const char *word;  // as callers ask for it
    const char *name;  // whole name in the library; null: it has no such function
};

// An option of the compiler, and the first version that knows it (12040 is 12.4; 0: all).
struct CompileOption {
    const char *text;
    int since;
};

struct Vendor {
    const char *kind;                  // of device, lower case: the word of INFINI_DEVICE
    const char *vendor;                // for people
    Library libraries[kPartCount];     // by Part
    const Rename *renames;             // ends with a null word; null: none
    const char *const *toolkit_paths;  // names of variables, or folders that begin with '/'
    const char *const *folders;        // of libraries, inside a toolkit
    const char *const *wheel_folders;  // of libraries, beside our own package; may hold '*'
    int warp;                          // threads that run in step; 0: ask the device
    const char *architecture;          // of the compiler, a format of major and minor
    const char
        *architecture_special;  // the same with all that only this very chip has; may be null
    const CompileOption *compile_options;  // always given to the compiler; ends with a null text
};

extern const Vendor vendor;

}  // namespace infini::cuda
