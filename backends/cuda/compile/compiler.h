// From text to code: the vendor's run-time compiler, and a cache of its results on disk.
#pragma once

#include <string>
#include <vector>

#include "../kernel.h"
#include "source.h"

namespace infini::cuda {

// What a device's code is made of.
struct Compilation {
    Source source;
    std::string text;
    std::vector<std::string> options;  // of the compiler
    Key key;                           // of all that the code depends on

    Compilation(const Source &source, const Device &device);
    // Compiles it, and keeps the code on disk. Any number of threads may do that at a time. Throws
    // Refusal with the compiler's words, or why there is no compiler.
    std::vector<char> make() const;
    // What the vendor's compiler made of it before, in the folder that INFINI_KERNEL_IMAGES names.
    bool load_image(std::vector<char> &code) const;

private:
    std::string name() const;  // of files: those of the source and of the image
};

// Compiled code on disk, shared by all processes of the user. A file that was cut short or belongs
// to something else counts as absent. Without a folder that can be written, nothing is kept.
class Cache {
public:
    static const Cache &get();

    bool load(const Key &key, std::vector<char> &code) const;
    // Complete under its name, or not there at all: readers never see a part.
    void store(const Key &key, const std::vector<char> &code) const;

private:
    Cache();
    std::string folder_;  // empty: off
};

}  // namespace infini::cuda
