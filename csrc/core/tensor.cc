// Tensors: creation, properties, and views.
#include "infinicore/tensor.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "blob.h"
#include "layout.h"
#include "object_pool.h"
#include "recorder.h"
#include "runtime.h"

namespace infinicore {

using namespace detail;

// ---- State of a tensor --------------------------------------------------------------------------

TensorMetaData::TensorMetaData(Shape shape, Strides strides, DataType dtype)
    : shape(std::move(shape)), strides(std::move(strides)), dtype(dtype) {}

TensorMetaData::~TensorMetaData() {
    if (desc) infiniopDestroyTensorDescriptor(desc);
}

infiniopTensorDescriptor_t TensorImpl::desc() const {
    std::atomic_ref<infiniopTensorDescriptor_t> known(meta_->desc);
    if (infiniopTensorDescriptor_t there = known.load(std::memory_order_acquire)) return there;
    infiniopTensorDescriptor_t made = nullptr, there = nullptr;
    check(infiniopCreateTensorDescriptor(&made, meta_->shape.size(), meta_->shape.data(),
                                         meta_->strides.data(), infiniDtype_t(meta_->dtype)),
          "Tensor");
    if (known.compare_exchange_strong(there, made)) return made;
    infiniopDestroyTensorDescriptor(made);  // another thread was quicker
    return there;
}

Size TensorImpl::numel() const {
    return std::accumulate(meta_->shape.begin(), meta_->shape.end(), Size{1}, std::multiplies<>());
}

Size TensorImpl::size(size_t dim) const {
    if (dim >= ndim())
        fail("size", "dim is " + std::to_string(dim) + ": expected less than the " +
                         std::to_string(ndim()) + " dimensions of the tensor");
    return meta_->shape[dim];
}

Stride TensorImpl::stride(size_t dim) const {
    if (dim >= ndim())
        fail("stride", "dim is " + std::to_string(dim) + ": expected less than the " +
                           std::to_string(ndim()) + " dimensions of the tensor");
    return meta_->strides[dim];
}

bool TensorImpl::is_contiguous() const {
    Size expected = 1;
    bool dense = true;
    for (size_t i = ndim(); i-- > 0;) {
        Size size = meta_->shape[i];
        if (size == 0) return true;
        if (size != 1) dense &= meta_->strides[i] == Stride(expected);
        expected *= size;
    }
    return dense;
}

void Tensor::throw_empty() {
    throw std::runtime_error(
        "Tensor: the handle holds no tensor: expected one from Tensor::empty, "
        "an operator or the like");
}

// ---- Construction -------------------------------------------------------------------------------

namespace {

std::shared_ptr<Memory> allocate(const char *function, size_t bytes, const Device &device,
                                 bool pin_memory) {
    ThreadState &thread = thread_state();
    if (pin_memory) {
        if (device.getType() != Device::Type::CPU)
            fail(function, "pin_memory is set for a tensor on " + device.toString() +
                               ": expected a tensor on the CPU");
        DeviceRuntime &runtime = current_runtime();
        return runtime.pinned.allocate(bytes, stream_of(runtime));
    }
    if (thread.recorder) [[unlikely]]
        return thread.recorder->allocate(bytes, device);
    DeviceRuntime &runtime = runtime_of(device, function);
    return runtime.allocator.allocate(bytes, stream_of(runtime));
}

Tensor make(Shape shape, Strides strides, DataType dtype, std::shared_ptr<Memory> memory,
            size_t offset) {
    return Tensor(make_pooled<TensorImpl>(
        make_pooled<TensorMetaData>(std::move(shape), std::move(strides), dtype),
        TensorData{offset, std::move(memory)}));
}

}  // namespace

Tensor Tensor::empty(const Shape &shape, const DataType &dtype, const Device &device,
                     bool pin_memory) {
    Strides strides = contiguous_strides(shape);
    size_t bytes = extent_of("empty", shape, strides, dtype).bytes();
    return make(shape, std::move(strides), dtype, allocate("empty", bytes, device, pin_memory), 0);
}

Tensor Tensor::strided_empty(const Shape &shape, const Strides &strides, const DataType &dtype,
                             const Device &device, bool pin_memory) {
    Extent extent = extent_of("strided_empty", shape, strides, dtype);
    return make(shape, strides, dtype,
                allocate("strided_empty", extent.bytes(), device, pin_memory), size_t(-extent.low));
}

Tensor Tensor::from_blob(void *data, const Shape &shape, const DataType &dtype,
                         const Device &device) {
    return strided_from_blob(data, shape, contiguous_strides(shape), dtype, device);
}

Tensor Tensor::strided_from_blob(void *data, const Shape &shape, const Strides &strides,
                                 const DataType &dtype, const Device &device) {
    Extent extent = extent_of("from_blob", shape, strides, dtype);
    if (!data && extent.bytes() != 0)
        fail("from_blob",
             "data is null: expected the address of " + std::to_string(extent.bytes()) + " bytes");
    // Does not query the device: memory of a device that is not available yet is reported when it
    // is used.
    auto *begin = data ? static_cast<std::byte *>(data) + extent.low : nullptr;
    auto memory = std::make_shared<Memory>(begin, extent.bytes(), device, Memory::Deleter());
    // A client waits itself for work that it queued on its own memory.
    memory->set_filled_by_host(device.getType() == Device::Type::CPU);
    return make(shape, strides, dtype, std::move(memory), size_t(-extent.low));
}

// ---- Non-owning handles -------------------------------------------------------------------------

namespace detail {

BlobMemory::BlobMemory(const std::shared_ptr<Memory> &owner)
    : Memory(owner->is_placed() ? owner->data() : nullptr, owner->size(), owner->device()),
      owner_(owner) {
    pinned_ = owner->is_pinned();
}

void BlobMemory::place() {
    std::shared_ptr<Memory> owner = owner_.lock();
    if (!owner) fail("Tensor", "its memory is gone: it was a handle that does not keep the memory");
    data_ = owner->data();
}

}  // namespace detail

Tensor TensorImpl::to_blob_() const {
    return make(meta_->shape, meta_->strides, meta_->dtype,
                std::make_shared<BlobMemory>(data_.memory), data_.offset);
}

Tensor TensorImpl::resume_from_blob_() const {
    auto *blob = dynamic_cast<BlobMemory *>(data_.memory.get());
    if (!blob) fail("resume_from_blob_", "the tensor is none of to_blob_()");
    std::shared_ptr<Memory> owner = blob->owner();
    if (!owner) fail("resume_from_blob_", "the memory of the tensor is gone");
    return Tensor(make_pooled<TensorImpl>(meta_, TensorData{data_.offset, std::move(owner)}));
}

// ---- Views --------------------------------------------------------------------------------------

namespace {

// The offset of a view, if the view stays inside the memory.
size_t checked_offset(const char *function, const TensorImpl &tensor, std::ptrdiff_t delta,
                      const Shape &shape, const Strides &strides, DataType dtype) {
    Extent extent = extent_of(function, shape, strides, dtype);
    auto size = std::ptrdiff_t(tensor.memory()->size());
    std::ptrdiff_t begin, low, high;
    if (__builtin_add_overflow(std::ptrdiff_t(tensor.offset()), delta, &begin) ||
        __builtin_add_overflow(begin, extent.low, &low) ||
        __builtin_add_overflow(begin, extent.high, &high) || low < 0 || high > size)
        fail(function, "shape " + text_of(shape) + " with strides " + text_of(strides) +
                           ", from byte " + std::to_string(tensor.offset()) + " + " +
                           std::to_string(delta) + ", leaves the memory of " +
                           std::to_string(size) + " bytes: expected a layout inside it");
    return size_t(begin);
}

void require_dimension(const char *function, const TensorImpl &tensor, size_t dim, size_t limit) {
    if (dim >= limit)
        fail(function, "dim is " + std::to_string(dim) + ": expected less than " +
                           std::to_string(limit) + " for a tensor of shape " +
                           text_of(tensor.shape()));
}

// Strides that give `shape` without a copy; false: there are none.
bool view_strides(const TensorImpl &tensor, const Shape &shape, Strides *result) {
    if (tensor.numel() == 0 || tensor.is_contiguous()) {
        *result = contiguous_strides(shape);
        return true;
    }
    const Shape &old = tensor.shape();
    const Strides &steps = tensor.strides();
    result->resize(shape.size());
    size_t at = shape.size();
    for (size_t i = old.size(); i-- > 0;) {
        // A run of dimensions that can be merged.
        Size run = old[i];
        Stride step = steps[i];
        while (i > 0 && (old[i - 1] == 1 || run == 1 || steps[i - 1] == step * Stride(run))) {
            if (run == 1) step = steps[i - 1];
            run *= old[--i];
        }
        Size covered = 1;
        while (at > 0 && (covered < run || shape[at - 1] == 1)) {
            --at;
            (*result)[at] = step * Stride(covered);
            covered *= shape[at];
        }
        if (covered != run) return false;
    }
    return at == 0;
}

}  // namespace

Tensor TensorImpl::view_as(Shape shape, Strides strides, DataType dtype,
                           std::ptrdiff_t offset) const {
    size_t begin = checked_offset("view_as", *this, offset, shape, strides, dtype);
    return make(std::move(shape), std::move(strides), dtype, data_.memory, begin);
}

Tensor TensorImpl::as_strided(const Shape &shape, const Strides &strides) const {
    checked_offset("as_strided", *this, 0, shape, strides, meta_->dtype);
    return make(shape, strides, meta_->dtype, data_.memory, data_.offset);
}

Tensor TensorImpl::squeeze(size_t dim) const {
    require_dimension("squeeze", *this, dim, ndim());
    Shape shape = meta_->shape;
    Strides strides = meta_->strides;
    if (shape[dim] == 1) {
        shape.erase(shape.begin() + std::ptrdiff_t(dim));
        strides.erase(strides.begin() + std::ptrdiff_t(dim));
    }
    return make(std::move(shape), std::move(strides), meta_->dtype, data_.memory, data_.offset);
}

Tensor TensorImpl::unsqueeze(size_t dim) const {
    require_dimension("unsqueeze", *this, dim, ndim() + 1);
    Shape shape = meta_->shape;
    Strides strides = meta_->strides;
    // Its stride is the extent of the dimensions after it, as in a contiguous tensor.
    Stride step = dim < ndim() ? Stride(shape[dim]) * strides[dim] : 1;
    shape.insert(shape.begin() + std::ptrdiff_t(dim), 1);
    strides.insert(strides.begin() + std::ptrdiff_t(dim), step);
    return make(std::move(shape), std::move(strides), meta_->dtype, data_.memory, data_.offset);
}

Tensor TensorImpl::narrow(const std::vector<TensorSliceParams> &slices) const {
    Shape shape = meta_->shape;
    size_t steps = 0;  // of signed strides: it may wrap around and back
    for (const TensorSliceParams &slice : slices) {
        require_dimension("narrow", *this, slice.dim, ndim());
        Size size = shape[slice.dim];
        if (slice.start > size || slice.len > size - slice.start)
            fail("narrow", "start " + std::to_string(slice.start) + " and len " +
                               std::to_string(slice.len) + " leave dimension " +
                               std::to_string(slice.dim) + " of size " + std::to_string(size));
        shape[slice.dim] = slice.len;
        steps += slice.start * size_t(meta_->strides[slice.dim]);
    }
    auto offset = std::ptrdiff_t(steps * element_size());
    // An empty view has no elements: its offset may be anything, even past the end of the memory.
    if (std::find(shape.begin(), shape.end(), Size{0}) != shape.end()) offset = 0;
    size_t begin = checked_offset("narrow", *this, offset, shape, meta_->strides, meta_->dtype);
    return make(std::move(shape), meta_->strides, meta_->dtype, data_.memory, begin);
}

Tensor TensorImpl::permute(const Shape &order) const {
    Shape shape(ndim()), seen(ndim());
    Strides strides(ndim());
    bool good = order.size() == ndim();
    for (size_t i = 0; good && i < order.size(); ++i) {
        good = order[i] < ndim() && seen[order[i]]++ == 0;
        if (!good) break;
        shape[i] = meta_->shape[order[i]];
        strides[i] = meta_->strides[order[i]];
    }
    if (!good)
        fail("permute", "order is " + text_of(order) + ": expected each of the " +
                            std::to_string(ndim()) + " dimensions once");
    return make(std::move(shape), std::move(strides), meta_->dtype, data_.memory, data_.offset);
}

Tensor TensorImpl::view(const Shape &shape) const {
    Size count = 1;
    bool fits = true;
    for (Size size : shape) fits = fits && !__builtin_mul_overflow(count, size, &count);
    if (!fits || count != numel())
        fail("view", "shape is " + text_of(shape) + ": expected one of the " +
                         std::to_string(numel()) + " elements of shape " + text_of(meta_->shape));
    Strides strides;
    if (!view_strides(*this, shape, &strides))
        fail("view", "shape " + text_of(shape) + " needs a copy of the tensor of shape " +
                         text_of(meta_->shape) + " and strides " + text_of(meta_->strides) +
                         ": use contiguous() first");
    return make(shape, std::move(strides), meta_->dtype, data_.memory, data_.offset);
}

}  // namespace infinicore
