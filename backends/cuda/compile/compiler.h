// The vendor's run-time compiler, and a disk cache of compiled code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../kernel.h"

namespace infini::cuda {

// Device code as text, with its hash.
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

// The options of compiled code for a device.
struct Compilation {
    Source source;
    std::string text;
    std::vector<std::string> options;  // of the compiler
    Key key;                           // of everything that the code depends on

    Compilation(const Source &source, const Device &device);
    // Compiles it, and caches the code on disk. Thread-safe. Throws Refusal with the compiler's
    // log, or the reason why there is no compiler.
    std::vector<char> make() const;
    // Code compiled ahead of time by the vendor's compiler, in the folder named by
    // INFINI_KERNEL_IMAGES.
    bool load_image(std::vector<char> &code) const;

private:
    std::string name() const;  // of files: those of the source and of the image
};

// Compiled code on disk, shared by all processes of the user. A truncated or mismatched file counts
// as absent. Without a writable folder, nothing is cached.
class Cache {
public:
    static const Cache &get();

    bool load(const Key &key, std::vector<char> &code) const;
    // Written atomically: readers never see a partial file.
    void store(const Key &key, const std::vector<char> &code) const;

private:
    Cache();
    std::string folder_;  // empty: off
};

}  // namespace infini::cuda
