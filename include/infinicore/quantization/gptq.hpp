#pragma once

#include "base_quantization.hpp"

namespace infinicore::quantization {

// qweight I32 [in / 8, out], qzeros I32 [groups, out / 8], scales [groups, out], and g_idx I32 [in],
// which names the group of each input.
class INFINI_EXPORT GPTQ : public GroupQuantization {
public:
    using GroupQuantization::GroupQuantization;
    QuantScheme get_quant_scheme() const override;
};

}  // namespace infinicore::quantization
