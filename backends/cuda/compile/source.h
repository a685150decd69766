// Device code as text, and its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace infini::cuda {

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

}  // namespace infini::cuda
