#include "host_tensor.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "runtime.h"

namespace infinicore::detail {
namespace {

constexpr std::align_val_t kHostAlignment{64};

bool is_reached(infinirtEvent_t event) {
    infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
    return infinirtEventQuery(event, &status) == INFINI_STATUS_SUCCESS &&
           status == INFINIRT_EVENT_COMPLETE;
}

// An event after the work queued for a CPU; null when it could not be recorded.
infinirtEvent_t mark_end(const DeviceRuntime &runtime) {
    const infinirtEvent_t event = make_event(runtime, context::EVENT_DISABLE_TIMING, "to");
    if (infinirtEventRecord(event, runtime.stream) == INFINI_STATUS_SUCCESS) return event;
    infinirtEventDestroy(event);
    return nullptr;
}

// Memory that was released while queued work may still use it.
class Retired {
public:
    void add(std::byte *memory, infinirtEvent_t end) {
        std::lock_guard locked(mutex_);
        held_.push_back({memory, end});
    }
    void free_unused() {
        std::lock_guard locked(mutex_);
        held_.erase(std::remove_if(held_.begin(), held_.end(), try_free), held_.end());
    }

private:
    struct Entry {
        std::byte *memory;
        infinirtEvent_t end;
    };
    static bool try_free(const Entry &entry) {
        if (!is_reached(entry.end)) return false;
        infinirtEventDestroy(entry.end);
        ::operator delete(entry.memory, kHostAlignment);
        return true;
    }

    std::mutex mutex_;
    std::vector<Entry> held_;
};

Retired &retired() {
    static auto &all = *new Retired;  // tensors may be destroyed after everything else
    return all;
}

void let_go(const DeviceRuntime &runtime, std::byte *memory) {
    RuntimeScope scope(runtime);
    retired().free_unused();
    if (infinirtEvent_t end = mark_end(runtime)) return retired().add(memory, end);
    ::operator delete(memory, kHostAlignment);
}

}  // namespace

Tensor new_host_tensor(const Shape &shape, DataType dtype, const Device &device) {
    Tensor made = Tensor::empty(shape, dtype, device, false);
    DeviceRuntime &runtime = runtime_of(device, "to");
    RuntimeScope scope(runtime);
    if (infinirtEvent_t end = mark_end(runtime)) {
        const bool is_idle = is_reached(end);
        infinirtEventDestroy(end);
        if (is_idle) return made;
    }
    retired().free_unused();
    auto *bytes = static_cast<std::byte *>(::operator new(made->nbytes(), kHostAlignment));
    auto memory = std::make_shared<Memory>(bytes, made->nbytes(), device,
                                           [&runtime](auto *held) { let_go(runtime, held); });
    return Tensor(std::make_shared<TensorImpl>(made->meta(), TensorData{0, std::move(memory)}));
}

}  // namespace infinicore::detail
