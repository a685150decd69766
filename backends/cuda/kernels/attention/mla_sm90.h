// MLA (multi-head latent attention) on Hopper.
#pragma once

#include "attention.h"

namespace infini::cuda {

// Values are the first part of keys, which are aligned to 16 bytes. Null where TMA cannot copy
// them.
std::unique_ptr<Plan> plan_mla_sm90(const AttentionCase &attention, Device &device);

}  // namespace infini::cuda
