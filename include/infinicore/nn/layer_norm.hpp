#pragma once

#include "module.hpp"

namespace infinicore::nn {

// Rows normalised to mean 0 and variance 1, times a weight, plus a bias.
class INFINI_EXPORT LayerNorm : public Module {
public:
    explicit LayerNorm(size_t normalized_shape, double eps = 1e-6,
                       const DataType &dtype = DataType::F32, const Device &device = Device());

    Tensor forward(const Tensor &x) const;

    size_t normalized_shape() const { return normalized_shape_; }
    double eps() const { return eps_; }
    DataType dtype() const { return dtype_; }
    Tensor weight() const { return weight_; }
    Tensor bias() const { return bias_; }
    std::string extra_repr() const;

protected:
    INFINICORE_NN_PARAMETER(weight);
    INFINICORE_NN_PARAMETER(bias);

private:
    size_t normalized_shape_;
    double eps_;
    DataType dtype_;
};

}  // namespace infinicore::nn
