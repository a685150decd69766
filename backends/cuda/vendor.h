// The names of one vendor. Everything that distinguishes CUDA-like vendors is in one such table:
// vendors/<kind>.cc defines `vendor`, and the rest of this folder is compiled once for all of them.
#pragma once

#include "libraries.h"

namespace infini::cuda {

constexpr int kUnrelated = -1;  // a number in a file name that is not the toolkit's

// One of the vendor's libraries, opened at run time.
struct VendorLibrary {
    const char *prefix;             // of its functions
    const char *const *names;       // files to try, best first; ends with null; null: none
    const char *const *companions;  // patterns of files next to it that it opens by their plain
                                    // names, so they must be there before; null: none
    int toolkit_offset;             // ".so.12" with 1 needs a driver that knows toolkit 13;
                                    // kUnrelated: any driver
    const char *use;                // its purpose in words: "the runtime library"
    const char *mark = nullptr;     // a function that only this vendor's library has, if others
                                    // have one of the same file name
};

// A function whose name is not the prefix plus the word. Several rows of one word are tried in
// order. A function may read fewer arguments than callers pass, but not more.
struct Rename {
    Part part;
    const char *word;  // the name used by callers
    const char *name;  // full name in the library; null: it has no such function
};

// A device attribute whose number is not CUDA's.
struct AttributeNumber {
    int ours, theirs;  // ours: infinirtDeviceAttr; 0 ends the list
};

// The enumerators of a BLAS library with GemmStridedBatchedEx; -1: unsupported element type.
struct GemmNumbers {
    int as_is, transposed;  // operations
    int algorithm;          // the default one
    int f32, f64, f16, bf16;
    int compute_f32, compute_f64;
};

// An option of the compiler, and the first version that supports it (12040 is 12.4; 0: all).
struct CompileOption {
    const char *text;
    int since;
};

struct Vendor {
    const char *kind;                     // of device, lower case: the word of INFINI_DEVICE
    const char *vendor;                   // human-readable
    VendorLibrary libraries[kPartCount];  // by Part
    const Rename *renames = nullptr;      // ends with a null word; null: none
    const char *const *toolkit_paths;     // names of variables, or folders that begin with '/'
    const char *const *folders;           // of libraries, inside a toolkit
    const char *const *wheel_folders = nullptr;  // next to our own package; may contain '*'
    // The libraries have the names of another vendor's, so only the vendor's own folders are
    // searched.
    bool own_folders_only = false;
    // Parts of paths and of device names that identify another vendor's library or device; ends
    // with null.
    const char *const *foreign = nullptr;
    int oldest_runtime = 0;  // version of the runtime library; 0: any

    // The aligned face uses the vendor's functions; otherwise the core implements it with the
    // driver table.
    bool forwards = false;
    const AttributeNumber *attributes = nullptr;  // supported attributes; null: CUDA's numbers
    const GemmNumbers *gemm = nullptr;            // null: the library has cuBLASLt's API

    int warp;              // warp size; 0: query the device
    bool has_ptx = false;  // device code may use inline PTX, and features that require it
    const char *architecture = nullptr;          // option of the compiler: a format of major and
                                                 // minor; null: it knows the device
    const char *architecture_special = nullptr;  // with architecture-specific features
    const CompileOption *compile_options = nullptr;  // always given; ends with a null text
    // The command that compiles a file if there is no run-time compiler; {source} and {image} are
    // files.
    const char *offline_command = nullptr;

    // Names and numbers that are not confirmed by a header or a second source; ends with null.
    const char *const *unverified = nullptr;
};

extern const Vendor vendor;

}  // namespace infini::cuda
