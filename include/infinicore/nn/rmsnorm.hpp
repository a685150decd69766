#pragma once

#include "module.hpp"

namespace infinicore::nn {

// Rows divided by their root mean square, times a weight.
class INFINI_EXPORT RMSNorm : public Module {
public:
    explicit RMSNorm(size_t normalized_shape, double eps = 1e-6,
                     const DataType &dtype = DataType::F32, const Device &device = Device());

    Tensor forward(const Tensor &x) const;
    // residual += x, then x = norm(residual), both in place. An empty residual becomes x, and x
    // becomes its norm.
    void forward_inplace(Tensor &x, Tensor &residual) const;

    size_t normalized_shape() const { return normalized_shape_; }
    double eps() const { return eps_; }
    DataType dtype() const { return dtype_; }
    Tensor weight() const { return weight_; }
    std::string extra_repr() const;

protected:
    INFINICORE_NN_PARAMETER(weight);

private:
    size_t normalized_shape_;
    double eps_;
    DataType dtype_;
};

}  // namespace infinicore::nn
