// What all uses of CNNL need: a handle for each device, and descriptors of tensors.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::cambricon {

using Handle = void *;

// cnnlDataType_t, or -1.
int type_of(int dtype);

// A function of CNNL's, or of another name that older versions have; a Refusal names it.
void *need_symbol(const char *symbol, const char *older = nullptr);
template <class F>
F need(const char *symbol, const char *older = nullptr) {
    return reinterpret_cast<F>(need_symbol(symbol, older));
}

// Throws a Refusal if a call failed.
void good(int code, const char *symbol);

// A handle of the library for each device; calls through it are one at a time.
struct Shared {
    std::mutex lock;
    Handle handle = nullptr;

    // Makes the handle if it is not there. The calling thread's device is `device`.
    static Shared &of(int device);
    // The lock is held. The vendor's code.
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
