#include "infinicore/nn/parameter.hpp"

#include "layout.h"
#include "runtime.h"
#include "text.h"

namespace infinicore::nn {

using namespace detail;

namespace {

// Into how many slices a tensor is cut.
Size slices(Size tp_size, Size num_shards) {
    return num_shards && num_shards < tp_size ? num_shards : tp_size;
}

// Parameters are allocated and loaded immediately, even while a graph is recorded.
Tensor allocate(const Shape &shape, const DataType &dtype, const Device &device) {
    PausedRecording paused;
    return Tensor::empty(shape, dtype, device, false);
}

Shape slice_shape(Shape shape, Size tp_dim, Size tp_size, Size num_shards) {
    if (tp_size <= 1) return shape;
    if (tp_dim >= shape.size())
        fail("Parameter", "tp_dim is " + std::to_string(Stride(tp_dim)) +
                              ": expected a dimension of the shape " + text_of(shape));
    Size count = slices(tp_size, num_shards);
    if (shape[tp_dim] % count)
        fail("Parameter", "the shape is " + text_of(shape) + ": expected a multiple of " +
                              std::to_string(count) + " in dimension " + std::to_string(tp_dim) +
                              ", for as many slices");
    shape[tp_dim] /= count;
    return shape;
}

Shape without_ones(const Shape &shape) {
    Shape rest;
    for (Size size : shape)
        if (size != 1) rest.push_back(size);
    return rest;
}

}  // namespace

Parameter::Parameter(const Tensor &tensor, Size tp_dim, Size tp_rank, Size tp_size, Size num_shards)
    : Tensor(tensor),
      tp_dim_(tp_dim),
      tp_rank_(tp_rank),
      tp_size_(tp_size),
      num_shards_(num_shards) {
    if (tp_size == 0 || tp_rank >= tp_size)
        fail("Parameter", "tp_rank is " + std::to_string(tp_rank) +
                              ": expected less than tp_size, which is " + std::to_string(tp_size));
    if (num_shards && tp_size % num_shards && num_shards % tp_size)
        fail("Parameter", "num_shards is " + std::to_string(num_shards) +
                              ": expected a multiple or a divisor of tp_size, which is " +
                              std::to_string(tp_size));
    if (tp_size > 1 && tensor && tp_dim >= tensor->ndim())
        fail("Parameter", "tp_dim is " + std::to_string(Stride(tp_dim)) +
                              ": expected a dimension of the shape " + text_of(tensor->shape()));
}

Parameter::Parameter(const Shape &shape, const DataType &dtype, const Device &device, Size tp_dim,
                     Size tp_rank, Size tp_size, Size num_shards)
    : Parameter(allocate(slice_shape(shape, tp_dim, tp_size, num_shards), dtype, device), tp_dim,
                tp_rank, tp_size, num_shards) {}

Shape Parameter::whole_shape() const {
    Shape shape = (*this)->shape();
    if (tp_size_ > 1) shape[tp_dim_] *= slices(tp_size_, num_shards_);
    return shape;
}

void Parameter::load_no_sync(const Tensor &tensor) {
    if (!*this) fail("Parameter::load", "the parameter holds no tensor: expected one to load into");
    PausedRecording paused;
    TensorImpl &target = **this;
    if (tensor->dtype() != target.dtype())
        fail("Parameter::load", "the tensor is of " + toString(tensor->dtype()) + ": expected " +
                                    toString(target.dtype()));
    Shape whole = whole_shape();
    if (tensor->shape() != whole && without_ones(tensor->shape()) != without_ones(whole))
        fail("Parameter::load",
             "the tensor has shape " + text_of(tensor->shape()) + ": expected " + text_of(whole) +
                 (whole == target.shape()
                      ? std::string()
                      : ", of which this rank holds " + text_of(target.shape())));
    Tensor source = tensor->shape() == whole ? tensor : tensor->view(whole);
    if (whole != target.shape()) {
        Size length = target.shape()[tp_dim_];
        Size slice = tp_rank_ * slices(tp_size_, num_shards_) / tp_size_;
        source = source->narrow({{tp_dim_, slice * length, length}});
    }
    target.copy_from(source);
}

void Parameter::load(const Tensor &tensor) {
    load_no_sync(tensor);
    DeviceRuntime &runtime = runtime_of((*this)->device(), "Parameter::load");
    RuntimeScope scope(runtime);
    check(infinirtStreamSynchronize(stream_of(runtime)), "Parameter::load");
}

void Parameter::load_blob(const void *data) {
    if (!*this) fail("Parameter::load_blob", "the parameter holds no tensor");
    // It is only read.
    load(from_blob(const_cast<void *>(data), whole_shape(), (*this)->dtype(), Device::cpu()));
}

}  // namespace infinicore::nn
