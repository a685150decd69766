// The vendor's libraries, each opened once on first use. Nothing is linked against them, so the
// package loads on machines without them.
#pragma once

#include <infini/backend.h>

namespace infini::cuda {

using Error = infinirtError_t;

enum class Part { kRuntime, kDriver, kCompiler, kBlas, kDnn, kSolver, kFourier, kCollectives };
constexpr int kPartCount = 8;

// A function by its name without the vendor's prefix: find(Part::kRuntime, "StreamCreate"). Null if
// the library is missing or lacks it. The lookup is slow: keep the result.
void *find(Part part, const char *word);

// The same with its type, for a `static const auto`.
template <class F>
F function(Part part, const char *word) {
    return reinterpret_cast<F>(find(part, word));
}

// Functions of a library, looked up by name into a struct of pointers.
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
    // Whether all required ones were found.
    bool is_complete() const { return is_complete_; }

private:
    const Part part_;
    bool is_complete_ = true;
};

// Why the library is missing, and what to do; null if it was found.
const char *problem(Part part);

// The path where it was found; null if it was not.
const char *path(Part part);

// Whether it is available from that toolkit (e.g. 12). It stays loaded, so that another library
// that opens it by its plain name finds it.
bool hold(Part part, int toolkit);

// The toolkit version of the runtime library, and the newest that the driver supports: 12090 is
// 12.9. 0: missing.
int runtime_version();
int driver_version();

// The substring of a path or a device's name that identifies another vendor; null: none.
const char *foreign_word(const char *text);

// The core's services. Set once by infini_backend_open.
const InfiniHost *host();
void set_host(const InfiniHost *host);

// Passes the message (a printf format) to the core and returns `code`.
[[gnu::format(printf, 2, 3)]] Error fail(Error code, const char *format, ...);

// The same for a result of the vendor's runtime or driver, with its name and text for the code.
// Success stays success. Clears the vendor's own last error.
Error check(Part part, int code, const char *word);

// Makes the device current on the calling thread, if necessary.
void use_device(int device);

// The same for a scope. Restores the device that another library on this thread uses.
class OnDevice {
public:
    explicit OnDevice(int device);
    ~OnDevice();
    OnDevice(const OnDevice &) = delete;

private:
    int before_ = -1;  // -1: unchanged
};

// Whether the stream is being captured.
bool is_capturing(int device, void *stream);

// Calls in this scope neither join nor invalidate a capture of this or another thread.
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
