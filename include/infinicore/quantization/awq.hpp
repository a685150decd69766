#pragma once

#include "base_quantization.hpp"

namespace infinicore::quantization {

// qweight I32 [in, out / 8], qzeros I32 [groups, out / 8] and scales [groups, out].
class INFINI_EXPORT AWQ : public GroupQuantization {
public:
    using GroupQuantization::GroupQuantization;
    QuantScheme get_quant_scheme() const override;
};

}  // namespace infinicore::quantization
