// Linear layers: whole, or with weights sharded over ranks.
#pragma once

#include <memory>
#include <string>

#include "../quantization.hpp"
#include "infiniccl.h"
#include "module.hpp"

namespace infinicore::nn {

using QuantizationPtr = std::shared_ptr<quantization::BaseQuantization>;

// alpha * input @ weight.T + bias. in_features and out_features are those of the whole layer. The
// derived classes create the parameters, which are named as in checkpoints: weight and bias, or the
// tensors that the quantisation has instead of the weight.
class INFINI_EXPORT BaseLinear : public Module {
public:
    BaseLinear(size_t in_features, size_t out_features, bool bias = true,
               const DataType &dtype = DataType::F32, const Device &device = Device());
    // A null quantisation means none, as above.
    BaseLinear(size_t in_features, size_t out_features, QuantizationPtr quantization,
               bool bias = true, const DataType &dtype = DataType::F32,
               const Device &device = Device());

    Tensor forward(const Tensor &input) const;
    // The same plus a residual.
    Tensor forward(const Tensor &input, const Tensor &residual) const;

    size_t in_features() const { return in_features_; }
    size_t out_features() const { return out_features_; }
    bool has_bias() const { return has_bias_; }
    DataType dtype() const { return dtype_; }
    float alpha() const { return alpha_; }
    void set_alpha(float alpha) { alpha_ = alpha; }

    // Empty where the layer has none. The weight may be packed.
    Tensor weight() const { return weight_; }
    Tensor bias() const { return bias_; }
    Tensor weight_scale() const { return weight_scale_; }
    Tensor weight_zeros() const { return weight_zeros_; }
    Tensor gidx() const { return gidx_; }
    QuantizationPtr get_quantization() const { return quantization_; }

    void process_weights_after_loading() override;

protected:
    enum class Split { NONE, OUTPUTS, INPUTS };
    void make_parameters(Split split = Split::NONE, Size tp_rank = 0, Size tp_size = 1);
    Tensor compute_linear(const Tensor &input) const;
    Tensor compute_linear(const Tensor &input, bool with_bias) const;
    std::string text_of(const char *name) const;

    INFINICORE_NN_PARAMETER(weight);
    INFINICORE_NN_PARAMETER(bias);
    INFINICORE_NN_PARAMETER(weight_scale);
    INFINICORE_NN_PARAMETER(weight_zeros);
    INFINICORE_NN_PARAMETER(gidx);

    size_t in_features_;
    size_t out_features_;
    bool has_bias_;
    DataType dtype_;
    float alpha_ = 1.0f;
    QuantizationPtr quantization_;
};

class INFINI_EXPORT Linear : public BaseLinear {
public:
    Linear(size_t in_features, size_t out_features, bool bias = true,
           const DataType &dtype = DataType::F32, const Device &device = Device());
    Linear(size_t in_features, size_t out_features, QuantizationPtr quantization, bool bias = true,
           const DataType &dtype = DataType::F32, const Device &device = Device());

    std::string extra_repr() const;
};

// Each rank computes some of the outputs, from some rows of the weight and of the bias.
class INFINI_EXPORT ColumnParallelLinear : public BaseLinear {
public:
    ColumnParallelLinear(size_t in_features, size_t out_features, bool bias = true,
                         const DataType &dtype = DataType::F32, const Device &device = Device(),
                         Size tp_rank = 0, Size tp_size = 1);
    ColumnParallelLinear(size_t in_features, size_t out_features, QuantizationPtr quantization,
                         bool bias = true, const DataType &dtype = DataType::F32,
                         const Device &device = Device(), Size tp_rank = 0, Size tp_size = 1);

    std::string extra_repr() const;

protected:
    Size tp_rank_ = 0;
    Size tp_size_ = 1;
};

// Each rank has some of the inputs, and the matching columns of the weight. The communicator sums
// the products over the ranks; without one the result is this rank's partial sum. Every rank has
// the bias, and rank 0 adds it.
class INFINI_EXPORT RowParallelLinear : public BaseLinear {
public:
    RowParallelLinear(size_t in_features, size_t out_features, bool bias = true,
                      const DataType &dtype = DataType::F32, const Device &device = Device(),
                      Size tp_rank = 0, Size tp_size = 1, infinicclComm_t communicator = nullptr);
    RowParallelLinear(size_t in_features, size_t out_features, QuantizationPtr quantization,
                      bool bias = true, const DataType &dtype = DataType::F32,
                      const Device &device = Device(), Size tp_rank = 0, Size tp_size = 1,
                      infinicclComm_t communicator = nullptr);

    Tensor forward(const Tensor &input) const;
    std::string extra_repr() const;

protected:
    Size tp_rank_ = 0;
    Size tp_size_ = 1;
    infinicclComm_t communicator_ = nullptr;
};

}  // namespace infinicore::nn
