// The data structures of DLPack 1.0, through which Python libraries lend each other memory.
#pragma once

#include <cstdint>

namespace infini::python::dlpack {

enum DeviceType : int32_t { kCpu = 1, kExtension = 12 };

struct Device {
    int32_t type;
    int32_t index;
};

struct DataType {
    uint8_t code;  // 1: unsigned integer
    uint8_t bits;
    uint16_t lanes;
};

struct Tensor {
    void *data;
    Device device;
    int32_t dimensions;
    DataType type;
    int64_t *shape;
    int64_t *strides;  // in items; null for a compact row-major tensor
    uint64_t byte_offset;
};

struct Managed {  // in a capsule "dltensor"
    Tensor tensor;
    void *context;
    void (*deleter)(Managed *);
};

struct ManagedVersioned {  // in a capsule "dltensor_versioned"
    uint32_t major, minor;
    void *context;
    void (*deleter)(ManagedVersioned *);
    uint64_t flags;
    Tensor tensor;
};

constexpr uint64_t kReadOnly = 1;
constexpr uint64_t kCopied = 2;

}  // namespace infini::python::dlpack
