// The simulated libcudart, in the same folder as the library that includes this.
#pragma once

#include <dlfcn.h>

#include <string>

namespace {

// Vendors' copies of these libraries are renamed in place (vendors/build.py): volatile keeps the name
// as bytes of the file, where an optimising compiler would put it into instructions.
const volatile char kRuntimeName[] = "libcudart.so.12";

void *open_runtime() {
    static const char inside = 0;
    Dl_info self;
    if (!dladdr(&inside, &self)) return nullptr;
    std::string path = self.dli_fname;
    path.resize(path.rfind('/') + 1);
    for (const volatile char *c = kRuntimeName; *c; ++c) path += *c;
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace
