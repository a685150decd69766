#pragma once

#include "base_quantization.hpp"

namespace infinicore::quantization {

// weight I8 [out, in] with weight_scale F32 [out, 1]; rows of the input are quantised to 8 bits,
// scaled by their largest element.
class INFINI_EXPORT CompressedTensors : public BaseQuantization {
public:
    using BaseQuantization::BaseQuantization;
    QuantScheme get_quant_scheme() const override;
};

}  // namespace infinicore::quantization
