#pragma once

namespace infinicore::quantization {

// How a layer's weights (W) and activations (A) are stored, with their bits.
enum class QuantScheme {
    NONE,
    COMPRESSED_TENSOR_W8A8I8,
    AWQ_W4A16,
    GPTQ_W4A16_QY,
    GPTQ_W4A16,
};

enum class KVQuantAlgo { NONE, INT8 };

}  // namespace infinicore::quantization
