#pragma once

#include <algorithm>
#include <cassert>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "infiniop.h"
#include "memory.hpp"

namespace infinicore {

class TensorImpl;

struct INFINI_EXPORT TensorMetaData {
    TensorMetaData(Shape shape, Strides strides, DataType dtype);
    ~TensorMetaData();
    TensorMetaData(const TensorMetaData &) = delete;

    Shape shape;
    Strides strides;
    DataType dtype;
    mutable infiniopTensorDescriptor_t desc = nullptr;  // created on first use
};

struct TensorData {
    size_t offset = 0;  // in bytes
    std::shared_ptr<Memory> memory;
};

struct TensorSliceParams {
    size_t dim;
    size_t start;
    Size len;
};

// A handle: copies refer to the same tensor. Its methods are those of TensorImpl.
class INFINI_EXPORT Tensor {
public:
    Tensor() = default;
    explicit Tensor(std::shared_ptr<TensorImpl> impl) noexcept : impl_(std::move(impl)) {}

    static Tensor empty(const Shape &shape, const DataType &dtype, const Device &device,
                        bool pin_memory = false);
    static Tensor strided_empty(const Shape &shape, const Strides &strides, const DataType &dtype,
                                const Device &device, bool pin_memory = false);
    static Tensor zeros(const Shape &shape, const DataType &dtype, const Device &device,
                        bool pin_memory = false);
    static Tensor ones(const Shape &shape, const DataType &dtype, const Device &device,
                       bool pin_memory = false);
    // A tensor over the caller's memory, which must outlive the tensor and its views.
    static Tensor from_blob(void *data, const Shape &shape, const DataType &dtype,
                            const Device &device);
    static Tensor strided_from_blob(void *data, const Shape &shape, const Strides &strides,
                                    const DataType &dtype, const Device &device);

    // Throws std::runtime_error if the handle is empty.
    TensorImpl *operator->() const {
        if (!impl_) throw_empty();
        return impl_.get();
    }
    TensorImpl &operator*() const { return *operator->(); }
    explicit operator bool() const noexcept { return impl_ != nullptr; }
    bool empty() const noexcept { return impl_ == nullptr; }
    size_t use_count() const noexcept { return size_t(impl_.use_count()); }
    void reset() noexcept { impl_.reset(); }
    void reset(std::shared_ptr<TensorImpl> impl) noexcept { impl_ = std::move(impl); }
    const std::shared_ptr<TensorImpl> &impl() const noexcept { return impl_; }

protected:
    std::shared_ptr<TensorImpl> impl_;

private:
    [[noreturn]] static void throw_empty();
};

class INFINI_EXPORT TensorImpl : public std::enable_shared_from_this<TensorImpl> {
public:
    TensorImpl(Shape shape, Strides strides, DataType dtype, TensorData data)
        : TensorImpl(std::make_shared<TensorMetaData>(std::move(shape), std::move(strides), dtype),
                     std::move(data)) {}
    // Tensors with the same layout may share its description.
    TensorImpl(std::shared_ptr<const TensorMetaData> meta, TensorData data) noexcept
        : meta_(std::move(meta)), data_(std::move(data)) {}

    // If you write to it from a stream of your own, synchronise that stream before the tensor is
    // copied to another device.
    std::byte *data() const { return data_.memory->data_to_read() + data_.offset; }
    // For work in infinicore's streams that modifies the tensor.
    std::byte *data_to_write() const { return data_.memory->data() + data_.offset; }
    const std::shared_ptr<const TensorMetaData> &meta() const { return meta_; }
    const Shape &shape() const { return meta_->shape; }
    const Strides &strides() const { return meta_->strides; }
    DataType dtype() const { return meta_->dtype; }
    Device device() const { return data_.memory->device(); }
    const std::shared_ptr<Memory> &memory() const { return data_.memory; }
    size_t offset() const { return data_.offset; }  // into the memory, in bytes

    Size ndim() const { return meta_->shape.size(); }
    Size numel() const;
    Size size(size_t dim) const;
    Stride stride(size_t dim) const;
    size_t element_size() const { return dsize(meta_->dtype); }
    size_t nbytes() const { return numel() * element_size(); }
    bool is_contiguous() const;
    bool is_pinned() const { return data_.memory->is_pinned(); }
    infiniopTensorDescriptor_t desc() const;
    std::string info() const;  // shape, strides, dtype and device in a line

    void debug() const;                             // prints the values
    void debug(const std::string &filename) const;  // writes the elements' bytes, densely

    // A non-owning handle to the memory, and its conversion back.
    Tensor to_blob_() const;
    Tensor resume_from_blob_() const;

    Tensor to(Device device) const;  // itself if it is already there
    void copy_from(Tensor src);      // any strides, any two devices, equal element types
    Tensor contiguous() const;       // itself if it is dense

    // Views: they share the memory.
    Tensor squeeze(size_t dim) const;
    Tensor unsqueeze(size_t dim) const;
    Tensor narrow(const std::vector<TensorSliceParams> &slices) const;
    Tensor permute(const Shape &order) const;
    Tensor view(const Shape &shape) const;
    Tensor as_strided(const Shape &shape, const Strides &strides) const;
    // Any layout inside the memory; the offset is in bytes from the tensor's start.
    Tensor view_as(Shape shape, Strides strides, DataType dtype, std::ptrdiff_t offset) const;

private:
    std::shared_ptr<const TensorMetaData> meta_;
    TensorData data_;
};

// Strides of a dense row-major tensor.
INFINI_EXPORT Strides contiguous_strides(const Shape &shape);

// Prints the values, with the print options.
INFINI_EXPORT std::ostream &operator<<(std::ostream &stream, const Tensor &tensor);

namespace print_options {
INFINI_EXPORT void set_line_width(int characters);
INFINI_EXPORT void set_threshold(int elements);  // larger tensors are abbreviated; default 1000
INFINI_EXPORT void set_edge_items(int count);
INFINI_EXPORT void set_precision(int digits);
INFINI_EXPORT void set_sci_mode(int mode);  // -1: depending on the values; 0: never; 1: always
}  // namespace print_options

}  // namespace infinicore
