// The vendor's libraries, opened when they are first asked for, each once. Nothing is linked
// against them, so the package loads on machines that have none.
#pragma once

#include <infini/backend.h>

namespace infini::cuda {

using Error = infinirtError_t;

enum class Part { kRuntime, kDriver, kCompiler, kBlas, kDnn, kSolver, kFourier, kCollectives };
constexpr int kPartCount = 8;

// A function by its name without the vendor's prefix: find(Part::kRuntime, "StreamCreate"). Null
// when the library is not there or lacks it. Looks through symbols: keep what it gives.
void *find(Part part, const char *word);

// The same with its type, for a `static const auto`.
template <class F>
F function(Part part, const char *word) {
    return reinterpret_cast<F>(find(part, word));
}

// Functions of a library, taken by their names into a struct of pointers.
class FunctionTable {
public:
    explicit FunctionTable(Part part) : part_(part) {}

    template <class F>
    void take_optional(F &to, const char *word) const {
        to = function<F>(part_, word);
    }
    template <class F>
    void take(F &to, const char *word) {
        take_optional(to, word);
        is_complete_ = is_complete_ && to;
    }
    // Whether all are there that were not optional.
    bool is_complete() const { return is_complete_; }

private:
    const Part part_;
    bool is_complete_ = true;
};

// Why the library is not there, and what to do; null when it is.
const char *problem(Part part);

// Where it was found; null when it was not.
const char *path(Part part);

// Whether it is there as a part of that toolkit (12, say). It stays loaded, so that another library
// that opens it by its plain name finds it.
bool hold(Part part, int toolkit);

// Of the toolkit that the runtime library is from, and the newest that the driver knows: 12090 is
// 12.9. 0: not there.
int runtime_version();
int driver_version();

// The word in a path or a device's name that tells another vendor's; null: there is none.
const char *foreign_word(const char *text);

// What the core offers. Set once by infini_backend_open.
const InfiniHost *host();
void set_host(const InfiniHost *host);

// Hands the sentence (a printf format) to the core and returns `code`.
[[gnu::format(printf, 2, 3)]] Error fail(Error code, const char *format, ...);

// The same for what a function of the vendor's runtime or driver returned: gives its name for the
// code and its text. Success stays success. The vendor's own record of the error is cleared.
Error check(Part part, int code, const char *word);

// Makes the device current on the calling thread, if it is not.
void use_device(int device);

// The same for a scope. Another library that works on this thread finds its own device again.
class OnDevice {
public:
    explicit OnDevice(int device);
    ~OnDevice();
    OnDevice(const OnDevice &) = delete;

private:
    int before_ = -1;  // -1: it was that device already
};

// Whether what is enqueued there becomes part of a graph.
bool is_capturing(int device, void *stream);

// What is done meanwhile neither joins nor disturbs a capture of this thread's or another's.
class OutsideCapture {
public:
    OutsideCapture() { exchange(); }
    ~OutsideCapture() { exchange(); }
    OutsideCapture(const OutsideCapture &) = delete;

private:
    void exchange();
    int mode_ = infinirtStreamCaptureModeRelaxed;
};

}  // namespace infini::cuda
