// Storage formats for the weights of linear layers.
#pragma once

#include "quantization/awq.hpp"
#include "quantization/base_quantization.hpp"
#include "quantization/compressed_tensors.hpp"
#include "quantization/config.hpp"
#include "quantization/gptq.hpp"
#include "quantization/gptq_qy.hpp"
#include "quantization/none_quantization.hpp"
#include "quantization/quantization_scheme.hpp"
