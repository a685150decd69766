// Copies and fills by the vendor's runtime.
#include "kernel.h"
#include "libraries.h"

namespace infini::cuda {
namespace {

// Calls a function of the runtime, which is looked up once.
template <class... A>
class Call {
public:
    explicit Call(const char *name)
        : name_(name), call_(function<int (*)(A...)>(Part::kRuntime, name)) {}

    Error operator()(A... arguments) const {
        const int code = call_(arguments...);
        return code == 0 ? infinirtSuccess : check(Part::kRuntime, code, name_);
    }

private:
    const char *name_;
    int (*call_)(A...);
};

}  // namespace

Error fill_bytes(const Stream &stream, void *memory, int value, size_t bytes) {
    static const Call<void *, int, size_t, void *> call("MemsetAsync");
    return bytes == 0 ? infinirtSuccess : call(memory, value, bytes, stream.handle);
}

Error copy_bytes(const Stream &stream, void *to, const void *from, size_t bytes) {
    static const Call<void *, const void *, size_t, int, void *> call("MemcpyAsync");
    if (bytes == 0) return infinirtSuccess;
    return call(to, from, bytes, infinirtMemcpyDefault, stream.handle);
}

Error wait(const Stream &stream) {
    static const Call<void *> call("StreamSynchronize");
    return call(stream.handle);
}

Error allocate(const Stream &stream, size_t bytes, void **memory) {
    static const Call<void **, size_t> call("Malloc");
    use_device(stream.device.index);
    return call(memory, bytes);
}

Error release(const Stream &stream, void *memory) {
    static const Call<void *> call("Free");
    use_device(stream.device.index);
    return call(memory);
}

}  // namespace infini::cuda
