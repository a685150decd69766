#include "infinicore/nn/linear.hpp"

#include "infinicore/collectives.hpp"
#include "infinicore/ops/add.hpp"
#include "schemes.h"

namespace infinicore::nn {

namespace {

QuantizationPtr or_none(QuantizationPtr quantization) {
    if (quantization) return quantization;
    return std::make_shared<quantization::NoneQuantization>();
}

}  // namespace

BaseLinear::BaseLinear(size_t in_features, size_t out_features, bool bias, const DataType &dtype,
                       const Device &device)
    : BaseLinear(in_features, out_features, nullptr, bias, dtype, device) {}

BaseLinear::BaseLinear(size_t in_features, size_t out_features, QuantizationPtr quantization,
                       bool bias, const DataType &dtype, const Device &device)
    : in_features_(in_features),
      out_features_(out_features),
      has_bias_(bias),
      dtype_(dtype),
      quantization_(or_none(std::move(quantization))) {
    device_ = device;
}

void BaseLinear::make_parameters(Split split, Size tp_rank, Size tp_size) {
    auto make = [&](Parameter &member, const StoredTensor &stored) {
        Size dim = split == Split::OUTPUTS  ? stored.outputs
                   : split == Split::INPUTS ? stored.inputs
                                            : kNoDim;
        member = dim == kNoDim
                     ? Parameter(stored.shape, stored.dtype, device_)
                     : Parameter(stored.shape, stored.dtype, device_, dim, tp_rank, tp_size);
        register_parameter(stored.name, member);
    };
    Parameter *members[] = {&weight_, &weight_scale_, &weight_zeros_, &gidx_};
    for (const StoredTensor &stored :
         stored_tensors(*quantization_, in_features_, out_features_, dtype_))
        make(*members[size_t(stored.role)], stored);
    if (has_bias_) make(bias_, {Role::WEIGHT, "bias", {out_features_}, dtype_, 0, kNoDim});
}

void BaseLinear::process_weights_after_loading() {}

Tensor BaseLinear::compute_linear(const Tensor &input, bool with_bias) const {
    Tensor bias;  // stays empty without one
    if (with_bias) bias = bias_;
    return multiply(*quantization_, input, {weight_, weight_scale_, weight_zeros_, gidx_}, bias,
                    alpha_);
}

Tensor BaseLinear::compute_linear(const Tensor &input) const { return compute_linear(input, true); }

Tensor BaseLinear::forward(const Tensor &input) const { return compute_linear(input, true); }

Tensor BaseLinear::forward(const Tensor &input, const Tensor &residual) const {
    Tensor out = compute_linear(input, true);
    op::add_(out, out, residual);
    return out;
}

std::string BaseLinear::text_of(const char *name) const {
    return std::string(name) + "(in_features=" + std::to_string(in_features_) +
           ", out_features=" + std::to_string(out_features_) +
           ", bias=" + (has_bias_ ? "true" : "false") + ", dtype=" + toString(dtype_) + ")";
}

// ---- Linear -------------------------------------------------------------------------------------

Linear::Linear(size_t in_features, size_t out_features, bool bias, const DataType &dtype,
               const Device &device)
    : Linear(in_features, out_features, nullptr, bias, dtype, device) {}

Linear::Linear(size_t in_features, size_t out_features, QuantizationPtr quantization, bool bias,
               const DataType &dtype, const Device &device)
    : BaseLinear(in_features, out_features, std::move(quantization), bias, dtype, device) {
    make_parameters();
}

std::string Linear::extra_repr() const { return text_of("Linear"); }

// ---- Shared out among ranks ---------------------------------------------------------------------

ColumnParallelLinear::ColumnParallelLinear(size_t in_features, size_t out_features, bool bias,
                                           const DataType &dtype, const Device &device,
                                           Size tp_rank, Size tp_size)
    : ColumnParallelLinear(in_features, out_features, nullptr, bias, dtype, device, tp_rank,
                           tp_size) {}

ColumnParallelLinear::ColumnParallelLinear(size_t in_features, size_t out_features,
                                           QuantizationPtr quantization, bool bias,
                                           const DataType &dtype, const Device &device,
                                           Size tp_rank, Size tp_size)
    : BaseLinear(in_features, out_features, std::move(quantization), bias, dtype, device),
      tp_rank_(tp_rank),
      tp_size_(tp_size) {
    make_parameters(Split::OUTPUTS, tp_rank, tp_size);
}

std::string ColumnParallelLinear::extra_repr() const { return text_of("ColumnParallelLinear"); }

RowParallelLinear::RowParallelLinear(size_t in_features, size_t out_features, bool bias,
                                     const DataType &dtype, const Device &device, Size tp_rank,
                                     Size tp_size, infinicclComm_t communicator)
    : RowParallelLinear(in_features, out_features, nullptr, bias, dtype, device, tp_rank, tp_size,
                        communicator) {}

RowParallelLinear::RowParallelLinear(size_t in_features, size_t out_features,
                                     QuantizationPtr quantization, bool bias, const DataType &dtype,
                                     const Device &device, Size tp_rank, Size tp_size,
                                     infinicclComm_t communicator)
    : BaseLinear(in_features, out_features, std::move(quantization), bias, dtype, device),
      tp_rank_(tp_rank),
      tp_size_(tp_size),
      communicator_(communicator) {
    make_parameters(Split::INPUTS, tp_rank, tp_size);
}

Tensor RowParallelLinear::forward(const Tensor &input) const {
    Tensor out = compute_linear(input, tp_rank_ == 0);
    if (tp_size_ > 1 && communicator_)
        collectives::run({INFINI_ALL_REDUCE, out, out, communicator_});
    return out;
}
std::string RowParallelLinear::extra_repr() const { return text_of("RowParallelLinear"); }

}  // namespace infinicore::nn
