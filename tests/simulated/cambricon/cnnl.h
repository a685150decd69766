/* Replaces the SDK's cnnl.h, from which the back end reads constants. The names are the SDK's; the
 * numbers are of this simulation alone, and on purpose not what one would guess. */
#pragma once

typedef enum {
    CNNL_SOFTMAX_FAST = 4,
    CNNL_SOFTMAX_ACCURATE = 6,
    CNNL_SOFTMAX_LOG,
} cnnlSoftmaxAlgorithm_t;

typedef enum {
    CNNL_SOFTMAX_MODE_HIGH_DIMENSION = 11,
    CNNL_SOFTMAX_MODE_MEDIUM_DIMENSION,
    CNNL_SOFTMAX_MODE_LOW_DIMENSION,
} cnnlSoftmaxMode_t;

typedef enum {
    CNNL_COMPUTATION_FAST = 21,
    CNNL_COMPUTATION_HIGH_PRECISION,
} cnnlComputationPreference_t;

typedef enum {
    CNNL_MASKED_SOFTMAX_ADD_MASK = 31,
    CNNL_MASKED_SOFTMAX_MASKED_FILL,
    CNNL_MASKED_SOFTMAX_MASKED_FILL_NEG_INF,
} cnnlMaskedSoftmaxOp_t;

typedef enum {
    CNNL_ACTIVATION_FAST = 41,
    CNNL_ACTIVATION_HIGH_PRECISION,
} cnnlActivationPreference_t;

typedef enum {
    CNNL_NOT_PROPAGATE_NAN = 51,
    CNNL_PROPAGATE_NAN,
} cnnlNanPropagation_t;

typedef enum {
    CNNL_ACTIVATION_SIGMOID = 61,
    CNNL_ACTIVATION_RELU,
    CNNL_ACTIVATION_TANH,
    CNNL_ACTIVATION_SILU = 68,
} cnnlActivationMode_t;

typedef enum {
    CNNL_OP_TENSOR_ADD = 71,
    CNNL_OP_TENSOR_SUB,
    CNNL_OP_TENSOR_MUL,
} cnnlOpTensorDesc_t;

typedef enum {
    CNNL_CAST_FLOAT_TO_HALF = 91,
    CNNL_CAST_HALF_TO_FLOAT,
    CNNL_CAST_FLOAT_TO_BFLOAT16,
    CNNL_CAST_BFLOAT16_TO_FLOAT,
} cnnlCastDataType_t;
