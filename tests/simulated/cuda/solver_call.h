// Shared by the functions of the simulated cuSOLVER: arguments, workspaces, calls in stream order.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "beside.h"
#include "solver_values.h"

namespace {

using namespace simulated;

constexpr int kSuccess = 0, kInvalid = 3, kFailed = 6;
constexpr int kAsIs = 0, kLower = 0, kWithVectors = 1;
constexpr int kLargestBatched = 32;

struct Handle {
    void *stream = nullptr;
    std::atomic<bool> is_used{false};
};
struct Params {
    int mark = 64;
};
struct Jacobi {
    double tolerance = 0;
    int sweeps = 100;
};

int wrong(const char *function, const char *what = "an argument", int status = kInvalid) {
    std::fprintf(stderr, "simulated cuSOLVER: %s: %s\n", function, what);
    return status;
}

void *runtime_function(const char *name) {
    static void *const library = open_runtime();
    return library ? dlsym(library, name) : nullptr;
}

// One call: in the stream's order, with a handle that no other thread uses, and not in a capture,
// since the library may wait for the device.
int enqueue(Handle *handle, const char *name, const std::function<void()> &work) {
    if (std::getenv("INFINI_SIMULATED_TRACE"))
        std::fprintf(stderr, "simulated cuSOLVER: calls %s\n", name);
    using Launch = int (*)(void *, void (*)(void *), void *);
    using Ask = int (*)(void *, int *);
    static const auto launch = reinterpret_cast<Launch>(runtime_function("cudaLaunchHostFunc"));
    static const auto ask = reinterpret_cast<Ask>(runtime_function("cudaStreamIsCapturing"));
    if (!launch || !ask) return wrong(name, "there is no runtime", kFailed);
    if (handle->is_used.exchange(true)) return wrong(name, "a handle is used by two threads");
    int capturing = 0, status = kFailed;
    if (ask(handle->stream, &capturing) != 0 || capturing) {
        wrong(name, "the stream is being captured");
    } else {
        auto call = [](void *data) {
            auto *kept = static_cast<std::function<void()> *>(data);
            (*kept)();
            delete kept;
        };
        if (launch(handle->stream, call, new std::function<void()>(work)) == 0) status = kSuccess;
    }
    handle->is_used = false;
    return status;
}

// The workspace size differs from call to call; the workspace is overwritten.
size_t elements_of(int64_t m, int64_t n) { return size_t(3 * m + n + 7); }
constexpr size_t kHostBytes = 24;

struct Work {
    void *device;
    size_t bytes;
    void *host;
    size_t host_bytes;

    bool has(size_t needed) const {
        return device && bytes >= needed && host && host_bytes >= kHostBytes;
    }
    void take(size_t needed) const { std::memset(device, 0xff, needed); }
};
inline int give_sizes(size_t bytes, size_t *device, size_t *host) {
    *device = bytes, *host = kHostBytes;
    return kSuccess;
}

// visit(E()) for the element type of a number of cudaDataType. False: there is no such number.
template <class Visit>
bool with_type(int code, const Visit &visit) {
    if (code == 0) visit(float());
    if (code == 1) visit(double());
    if (code == 4) visit(std::complex<float>());
    if (code == 5) visit(std::complex<double>());
    return code == 0 || code == 1 || code == 4 || code == 5;
}
inline int real_of(int code) { return code & 1; }
inline size_t bytes_of(int code) { return size_t(code & 1 ? 8 : 4) << (code >= 4); }

// The call, with work(E()) for the type.
template <class Visit>
int enqueue_typed(Handle *handle, const char *name, int code, const Visit &visit) {
    if (!with_type(code, [](auto) {})) return wrong(name, "a type");
    return enqueue(handle, name, [=] { with_type(code, visit); });
}

template <class E>
Matrix<E> columns(const void *data, int64_t lead) {
    return {static_cast<E *>(const_cast<void *>(data)), lead};
}

}  // namespace
