// Copies of tensors, within a device and between devices, and tensors with initial values.
#include <algorithm>
#include <cstring>

#include "host_tensor.h"
#include "infinicore/tensor.hpp"
#include "layout.h"
#include "numbers.h"
#include "profiler.h"
#include "runtime.h"
#include "step.h"

namespace infinicore {

using namespace detail;

namespace {

// Host memory that a device does not reach is copied in chunks through pinned memory.
constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr size_t kPiecesAtOnce = 16;

bool same_layout(const TensorImpl &a, const TensorImpl &b) {
    return a.memory() == b.memory() && a.offset() == b.offset() && a.strides() == b.strides();
}

bool overlap(const TensorImpl &a, const TensorImpl &b) {
    if (a.memory() != b.memory() && !(a.memory()->is_placed() && b.memory()->is_placed()))
        return false;
    Extent first = extent_of("copy_from", a.shape(), a.strides(), a.dtype());
    Extent second = extent_of("copy_from", b.shape(), b.strides(), b.dtype());
    // Within one memory the offsets decide; a client's own memories may overlap.
    auto begin = [&](const TensorImpl &tensor) {
        return a.memory() == b.memory() ? std::ptrdiff_t(tensor.offset())
                                        : reinterpret_cast<std::ptrdiff_t>(tensor.data());
    };
    return begin(a) + first.low < begin(b) + second.high &&
           begin(b) + second.low < begin(a) + first.high;
}

// ---- Within a device ----------------------------------------------------------------------------

void copy_within(const Tensor &dst, const Tensor &src) {
    bool recording = thread_state().recorder != nullptr;
    if (same_layout(*dst, *src)) return;
    if (overlap(*dst, *src)) {
        Tensor apart = Tensor::empty(src->shape(), src->dtype(), src->device(), false);
        copy_within(apart, src);
        return copy_within(dst, apart);
    }
    if (recording || !dst->is_contiguous() || !src->is_contiguous())
        return run_operator("rearrange", {dst, src});
    DeviceRuntime &runtime = runtime_of(dst->device(), "copy_from");
    RuntimeScope scope(runtime);
    // The CPU can use host memory that the runtime did not allocate.
    auto kind = runtime.is_cpu() ? INFINIRT_MEMCPY_H2H : INFINIRT_MEMCPY_D2D;
    ProfiledScope profiled("copy", runtime, 2 * dst->nbytes());
    check(infinirtMemcpyAsync(dst->data_to_write(), src->data(), dst->nbytes(), kind,
                              stream_of(runtime)),
          "copy_from");
}

// ---- Between devices ----------------------------------------------------------------------------

// One side of a copy between devices: contiguous memory, and the runtime that it belongs to.
struct Side {
    Side(const Tensor &tensor, bool is_written)
        : runtime(runtime_of(tensor->device(), "copy_from")),
          stream(stream_of(runtime)),
          memory(*tensor->memory()),
          filled_by_host(memory.is_filled_by_host()),
          data(is_written ? tensor->data_to_write() : tensor->data()) {}

    void wait() const {
        RuntimeScope scope(runtime);
        check(infinirtStreamSynchronize(stream), "copy_from");
    }
    // Waits until the device's own work on host memory has finished. Ranks that share a process
    // rely on not waiting here for a collective of the first CPU's.
    void require_host(size_t bytes, bool write) const {
        if (write || !filled_by_host) wait();
        if (!infiniIsHostMemory(data, bytes, write))
            fail("copy_from", std::string("the tensor on ") + runtime.device.toString() +
                                  " lies in no memory that can be " + (write ? "written" : "read"));
    }

    DeviceRuntime &runtime;
    infinirtStream_t stream;
    Memory &memory;
    bool filled_by_host;
    std::byte *data;
};

void from_host(const Side &dst, const std::byte *src, size_t bytes) {
    RuntimeScope scope(dst.runtime);
    for (size_t done = 0, piece = 0; done < bytes; ++piece) {
        size_t size = std::min(bytes - done, kPieceBytes);
        if (piece % kPiecesAtOnce == kPiecesAtOnce - 1) dst.wait();
        // Freed immediately: it is not reused before the copy from it has finished.
        std::shared_ptr<Memory> stage = dst.runtime.pinned.allocate(size, dst.stream);
        std::memcpy(stage->data(), src + done, size);
        check(infinirtMemcpyAsync(dst.data + done, stage->data(), size, INFINIRT_MEMCPY_H2D,
                                  dst.stream),
              "copy_from");
        done += size;
    }
}

void to_host(std::byte *dst, const Side &src, size_t bytes) {
    RuntimeScope scope(src.runtime);
    std::shared_ptr<Memory> stage =
        src.runtime.pinned.allocate(std::min(bytes, kPieceBytes), src.stream);
    for (size_t done = 0; done < bytes;) {
        size_t size = std::min(bytes - done, kPieceBytes);
        check(infinirtMemcpyAsync(stage->data(), src.data + done, size, INFINIRT_MEMCPY_D2H,
                                  src.stream),
              "copy_from");
        src.wait();
        std::memcpy(dst + done, stage->data(), size);
        done += size;
    }
}

void through_host(const Side &dst, const Side &src, size_t bytes) {
    std::shared_ptr<Memory> stage =
        dst.runtime.pinned.allocate(std::min(bytes, kPieceBytes), dst.stream);
    for (size_t done = 0; done < bytes;) {
        size_t size = std::min(bytes - done, kPieceBytes);
        Side part_of_src = src, part_of_dst = dst;
        part_of_src.data += done;
        part_of_dst.data += done;
        to_host(stage->data(), part_of_src, size);
        RuntimeScope scope(dst.runtime);
        check(infinirtMemcpyAsync(part_of_dst.data, stage->data(), size, INFINIRT_MEMCPY_H2D,
                                  dst.stream),
              "copy_from");
        dst.wait();
        done += size;
    }
}

// Later work in one stream waits for the present work of the other.
void let_wait(const Side &waiting, const Side &other) {
    infinirtEvent_t event = nullptr;
    {
        RuntimeScope scope(other.runtime);
        check(infinirtEventCreateWithFlags(&event, INFINIRT_EVENT_DISABLE_TIMING), "copy_from");
    }
    infiniStatus_t status;
    {
        RuntimeScope scope(other.runtime);
        status = infinirtEventRecord(event, other.stream);
    }
    if (status == INFINI_STATUS_SUCCESS) {
        RuntimeScope scope(waiting.runtime);
        status = infinirtStreamWaitEvent(waiting.stream, event);
    }
    infinirtEventDestroy(event);
    check(status, "copy_from");
}

void between_peers(const Side &dst, const Side &src, size_t bytes) {
    let_wait(dst, src);
    {
        RuntimeScope scope(dst.runtime);
        check(infinirtMemcpyAsync(dst.data, src.data, bytes, INFINIRT_MEMCPY_D2D, dst.stream),
              "copy_from");
    }
    let_wait(src, dst);
}

// `is_new`: no work in a stream uses `to` yet.
void copy_dense(const Tensor &to, const Tensor &from, bool is_new) {
    size_t bytes = to->nbytes();
    Side dst(to, true), src(from, false);
    ProfiledScope profiled("copy between devices", dst.runtime.is_cpu() ? src.runtime : dst.runtime,
                           bytes);
    if (dst.runtime.is_cpu() && src.runtime.is_cpu()) {
        src.require_host(bytes, false);
        if (!is_new) dst.require_host(bytes, true);
        std::memmove(dst.data, src.data, bytes);
    } else if (src.runtime.is_cpu()) {
        src.require_host(bytes, false);
        from_host(dst, src.data, bytes);
    } else if (dst.runtime.is_cpu()) {
        if (!is_new) dst.require_host(bytes, true);
        to_host(dst.data, src, bytes);
    } else if (dst.runtime.device.getType() == src.runtime.device.getType()) {
        between_peers(dst, src, bytes);
    } else {
        through_host(dst, src, bytes);
    }
}

void copy_between(const Tensor &dst, const Tensor &src, bool is_new = false) {
    if (thread_state().recorder)
        fail("copy_from", "a copy from " + src->device().toString() + " to " +
                              dst->device().toString() +
                              " cannot be recorded: do it before the recording, or after it");
    Tensor dense = dst->is_contiguous()
                       ? dst
                       : Tensor::empty(dst->shape(), dst->dtype(), dst->device(), false);
    copy_dense(dense, src->contiguous(), is_new);
    if (dense.impl() != dst.impl()) copy_within(dst, dense);
}

void fill_with_zeros(const Tensor &tensor) {
    size_t bytes = tensor->nbytes();
    if (bytes == 0) return;
    if (thread_state().recorder) {
        Tensor raw = tensor->view_as({bytes}, {1}, DataType::U8, 0);
        return run_operator("zeros", {raw, raw});
    }
    DeviceRuntime &runtime = runtime_of(tensor->device(), "zeros");
    RuntimeScope scope(runtime);
    ProfiledScope profiled("zeros", runtime, bytes);
    check(infinirtMemsetAsync(tensor->data_to_write(), 0, bytes, stream_of(runtime)), "zeros");
}

}  // namespace

void TensorImpl::copy_from(Tensor src) {
    if (!src) fail("copy_from", "src is empty: expected a tensor");
    if (src->dtype() != dtype())
        fail("copy_from", "src is of type " + toString(src->dtype()) + ": expected " +
                              toString(dtype()) + ", as the tensor it is copied to");
    if (src->shape() != shape())
        fail("copy_from", "src has shape " + text_of(src->shape()) + ": expected " +
                              text_of(shape()) + ", as the tensor it is copied to");
    if (numel() == 0) return;
    Tensor dst(shared_from_this());
    src->device() == device() ? copy_within(dst, src) : copy_between(dst, src);
}

Tensor TensorImpl::to(Device target) const {
    Tensor self(std::const_pointer_cast<TensorImpl>(shared_from_this()));
    if (target == device()) return self;
    if (target.getType() == Device::Type::CPU && numel() != 0 && !thread_state().recorder) {
        Tensor result = new_host_tensor(shape(), dtype(), target);
        copy_between(result, self, true);
        return result;
    }
    Tensor result = Tensor::empty(shape(), dtype(), target, false);
    result->copy_from(self);
    return result;
}

Tensor TensorImpl::contiguous() const {
    Tensor self(std::const_pointer_cast<TensorImpl>(shared_from_this()));
    if (is_contiguous()) return self;
    Tensor result = Tensor::empty(shape(), dtype(), device(), false);
    result->copy_from(self);
    return result;
}

Tensor Tensor::zeros(const Shape &shape, const DataType &dtype, const Device &device,
                     bool pin_memory) {
    Tensor result = empty(shape, dtype, device, pin_memory);
    fill_with_zeros(result);
    return result;
}

Tensor Tensor::ones(const Shape &shape, const DataType &dtype, const Device &device,
                    bool pin_memory) {
    Tensor result = empty(shape, dtype, device, pin_memory);
    Size count = result->numel();
    if (count == 0) return result;
    Tensor numbers = result;
    if (DataType part = part_of(dtype); part != dtype) {
        fill_with_zeros(result);
        numbers = result->view_as({count}, {2}, part, 0);  // the real parts
    }
    run_operator("ones", {numbers, numbers});
    return result;
}

}  // namespace infinicore
