// Memory for the tests of copies: allocated, filled with a pattern, freed.
#pragma once

#include <vector>

#include "check.h"

using Bytes = std::vector<unsigned char>;

inline Bytes pattern(size_t count, unsigned seed = 1) {
    Bytes bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + seed * 13);
    return bytes;
}

struct DeviceMemory {
    explicit DeviceMemory(size_t bytes) { OK(infinirtMalloc(&memory, bytes)); }
    ~DeviceMemory() { OK(infinirtFree(memory)); }
    operator void *() const { return memory; }
    unsigned char *at(size_t offset) const { return static_cast<unsigned char *>(memory) + offset; }
    void *memory;
};

struct PinnedMemory {
    explicit PinnedMemory(size_t bytes) { OK(infinirtMallocHost(&memory, bytes)); }
    ~PinnedMemory() { OK(infinirtFreeHost(memory)); }
    operator void *() const { return memory; }
    unsigned char *bytes() const { return static_cast<unsigned char *>(memory); }
    void *memory;
};

inline Bytes read_back(const void *device, size_t count) {
    Bytes bytes(count);
    OK(infinirtMemcpy(bytes.data(), device, count, infinirtMemcpyDeviceToHost));
    return bytes;
}
