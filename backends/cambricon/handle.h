// Shared by all uses of CNNL: a handle for each device, and tensor descriptors.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::cambricon {

using Handle = void *;

// cnnlDataType_t, or -1.
int type_of(int dtype);

// A function of CNNL, or its name in older versions; throws a Refusal that names it if missing.
void *need_symbol(const char *symbol, const char *older = nullptr);
template <class F>
F need(const char *symbol, const char *older = nullptr) {
    return reinterpret_cast<F>(need_symbol(symbol, older));
}

// Throws a Refusal if a call failed.
void good(int code, const char *symbol);

// A handle of the library for each device; calls through it are serialized.
struct Shared {
    std::mutex lock;
    Handle handle = nullptr;

    // Creates the handle if necessary. The calling thread's device is `device`.
    static Shared &of(int device);
    // Called with the lock held. Returns the vendor's code.
    int use(void *queue);
};

// A tensor's sizes and strides, without its memory.
class Descriptor {
public:
    explicit Descriptor(const Shape &shape);
    ~Descriptor();
    Descriptor(Descriptor &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    operator Handle() const { return handle_; }

private:
    Handle handle_ = nullptr;
};

}  // namespace infini::vendor_runtime::cambricon
