// Scalars in memory that kernels can read.
//
// On a device a copy from the host would make the stream wait, or need pinned memory and an event
// each time. Programs use few scalars, so these stay on the device.
#include <cstring>
#include <map>
#include <unordered_map>

#include "infinirt.h"
#include "keep.h"
#include "numbers.h"

namespace infini::python {

namespace core = infinicore::detail;
using infinicore::Memory;

namespace {

constexpr size_t kMost = 4096;  // numbers of a device that are kept
constexpr size_t kStep = 16;

// Used with the interpreter's lock. Lives as long as the process.
class NumbersThere {
public:
    explicit NumbersThere(core::DeviceRuntime &runtime) : runtime_(runtime) {
        core::RuntimeScope scope(runtime);
        core::check(infinirtStreamCreate(&stream_), "a number");
        infiniKeep(stream_);
        memory_ = runtime.allocator.allocate(kMost * kStep, stream_);
        stage_ = runtime.pinned.allocate(kStep, stream_);
    }

    // Null: the table is full.
    std::shared_ptr<Memory> find(uint64_t element, size_t bytes) {
        auto &known = known_[bytes];
        auto found = known.find(element);
        if (found != known.end()) [[likely]]
            return found->second;
        if (count_ == kMost) return nullptr;
        std::byte *place = memory_->data() + count_ * kStep;
        std::memcpy(stage_->data(), &element, bytes);
        core::RuntimeScope scope(runtime_);
        core::check(infinirtMemcpyAsync(place, stage_->data(), bytes, INFINIRT_MEMCPY_H2D, stream_),
                    "a number");
        // Then any stream can use it, also one that is being captured.
        core::check(infinirtStreamSynchronize(stream_), "a number");
        ++count_;
        return known
            .emplace(element,
                     std::make_shared<Memory>(place, bytes, runtime_.device, Memory::Deleter()))
            .first->second;
    }

private:
    core::DeviceRuntime &runtime_;
    infinirtStream_t stream_ = nullptr;
    std::shared_ptr<Memory> memory_, stage_;
    size_t count_ = 0;
    std::map<size_t, std::unordered_map<uint64_t, std::shared_ptr<Memory>>> known_;
};

NumbersThere &numbers_of(core::DeviceRuntime &runtime) {
    static auto &all = *new std::map<core::DeviceRuntime *, NumbersThere *>;
    NumbersThere *&numbers = all[&runtime];
    if (!numbers) numbers = new NumbersThere(runtime);
    return *numbers;
}

std::shared_ptr<Memory> new_memory(core::DeviceRuntime &runtime, uint64_t element, size_t bytes) {
    infinirtStream_t stream = core::stream_of(runtime);
    auto memory = runtime.allocator.allocate(bytes, stream);
    core::RuntimeScope scope(runtime);
    const void *from = &element;
    std::shared_ptr<Memory> stage;
    if (!runtime.is_cpu()) {
        stage =
            runtime.pinned.allocate(bytes, stream);  // is not reused before the copy has finished
        from = std::memcpy(stage->data(), &element, bytes);
    }
    core::check(infinirtMemcpyAsync(memory->data(), from, bytes, INFINIRT_MEMCPY_H2D, stream),
                "a number");
    return memory;
}

}  // namespace

std::shared_ptr<Memory> number_memory(core::DeviceRuntime &runtime, PyObject *number,
                                      infinicore::DataType dtype) {
    uint64_t element = 0;
    const size_t bytes = encode_number(number, dtype, &element);
    if (!runtime.is_cpu())
        if (auto there = numbers_of(runtime).find(element, bytes)) return there;
    return new_memory(runtime, element, bytes);
}

std::shared_ptr<Memory> own_number_memory(core::DeviceRuntime &runtime, PyObject *number,
                                          infinicore::DataType dtype) {
    uint64_t element = 0;
    const size_t bytes = encode_number(number, dtype, &element);
    return new_memory(runtime, element, bytes);
}

}  // namespace infini::python
