// Latent attention on Hopper.
#pragma once

#include "attention.h"

namespace infini::cuda {

// Values are the first part of keys, which lie at a multiple of 16 bytes. Null where the bulk engine
// cannot copy them.
std::unique_ptr<Plan> plan_mla_sm90(const AttentionCase &attention, Device &device);

}  // namespace infini::cuda
