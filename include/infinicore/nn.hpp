// Modules and layers.
#pragma once

#include "nn/embedding.hpp"
#include "nn/layer_norm.hpp"
#include "nn/linear.hpp"
#include "nn/module.hpp"
#include "nn/parameter.hpp"
#include "nn/rmsnorm.hpp"
#include "nn/rope.hpp"
#include "nn/rope_scaling_configs.hpp"
