// From text to code: the vendor's run-time compiler, and a cache of its results on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../kernel.h"

namespace infini::cuda {

// Device code as text, and its number.
struct DeviceFile {
    const char *name;  // inside device/
    const char *text;
};
extern const DeviceFile kDeviceFiles[];
extern const size_t kDeviceFileCount;

// A hash of 128 bits that identifies a text.
struct Key {
    uint64_t high = 0, low = 0;

    bool operator==(const Key &) const = default;
    std::string hex() const;
};
struct KeyHash {
    size_t operator()(const Key &key) const { return key.low; }
};

Key key_of(const std::string &text);

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
