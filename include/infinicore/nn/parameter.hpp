// A tensor that a module loads: the whole of it, or this rank's slice of it.
#pragma once

#include <string>

#include "../tensor.hpp"

namespace infinicore::nn {

// With tp_size > 1 it holds slice tp_rank of tp_size along dimension tp_dim of the loaded tensor.
// If there are fewer slices than ranks (key heads, say), num_shards is their number and
// neighbouring ranks hold the same one; 0 means one per rank. With tp_size 1, tp_dim is ignored.
class INFINI_EXPORT Parameter : public Tensor {
public:
    Parameter() = default;
    // The tensor is the slice; it may be a view, e.g. of a fused weight.
    Parameter(const Tensor &tensor, Size tp_dim = 0, Size tp_rank = 0, Size tp_size = 1,
              Size num_shards = 0);
    // Allocates the slice of a tensor of this shape.
    Parameter(const Shape &shape, const DataType &dtype, const Device &device, Size tp_dim = 0,
              Size tp_rank = 0, Size tp_size = 1, Size num_shards = 0);
    Parameter(const Parameter &) = default;
    Parameter(Parameter &&) noexcept = default;
    Parameter &operator=(const Parameter &) = default;
    Parameter &operator=(Parameter &&) noexcept = default;

    // Copies this rank's slice of a whole tensor, and waits for it. Dimensions of size 1 are
    // ignored: [1, n] is accepted for [n, 1].
    void load(const Tensor &tensor);
    // Does not wait: the tensor must not change until the stream is synchronised.
    void load_no_sync(const Tensor &tensor);
    // `data` has the elements of a whole tensor in host memory, densely.
    void load_blob(const void *data);

protected:
    Size tp_dim_ = 0;
    Size tp_rank_ = 0;
    Size tp_size_ = 1;
    Size num_shards_ = 0;

private:
    Shape whole_shape() const;
};

}  // namespace infinicore::nn
