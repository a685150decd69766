// The data structures of DLPack, through which Python libraries share memory.
#pragma once

#include <cstdint>

namespace infini::python::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCudaHost = 3, kRocmHost = 11, kExtension = 12 };

constexpr bool is_host(int32_t type) {
    return type == kCpu || type == kCudaHost || type == kRocmHost;
}

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

// The table of C functions by which a type lends its tensors, in a capsule "dlpack_exchange_api";
// DLPack 1.3. They return 0, or -1 with a Python exception.
struct Exchange {
    uint32_t major, minor;
    Exchange *previous;
    int (*allocate)(Tensor *prototype, ManagedVersioned **made, void *context,
                    void (*set_error)(void *context, const char *kind, const char *message));
    int (*managed_from_object)(void *object, ManagedVersioned **made);
    int (*managed_to_object)(ManagedVersioned *managed, void **made);
    int (*tensor_from_object)(void *object, Tensor *tensor);  // borrows; may be null
    int (*current_stream)(int32_t device_type, int32_t device_index, void **stream);
};

}  // namespace infini::python::dlpack
