#pragma once

#include "base_quantization.hpp"

namespace infinicore::quantization {

// A weight [out, in] in the layer's own element type.
class INFINI_EXPORT NoneQuantization : public BaseQuantization {
public:
    using BaseQuantization::BaseQuantization;
    QuantScheme get_quant_scheme() const override;
};

}  // namespace infinicore::quantization
