#pragma once

#include "base_quantization.hpp"

namespace infinicore::quantization {

// GPTQ in the layout of a vendor's library: qweight U8 [in / 2, out], qzeros and scales
// [groups, out]. Only that vendor's devices support it.
class INFINI_EXPORT GPTQ_QY : public GroupQuantization {
public:
    using GroupQuantization::GroupQuantization;
    QuantScheme get_quant_scheme() const override;
};

}  // namespace infinicore::quantization
