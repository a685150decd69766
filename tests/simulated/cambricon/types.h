// Types of Neuware's interfaces that the signatures in facts/cambricon*.json name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cambricon/cnnl.h"
#include "cambricon/cnnl_extra.h"

using cnrtRet_t = int;
using cnrtQueue_t = void *;
using cnrtNotifier_t = void *;
using cnrtMemTransDir_t = int;
using cnrtDeviceAttr_t = int;
using cnrtQueueCaptureMode = int;
using cnrtQueueCaptureStatus = int;
using cnrtTaskTopo_t = void *;
using cnrtTaskTopoEntity_t = void *;
using cnrtTaskTopoNode_t = void *;
struct cnrtDeviceProp_t;
struct cnrtPointerAttributes_t;

using cnnlStatus_t = int;
using cnnlHandle_t = struct Handle *;
using cnnlTensorDescriptor_t = struct TensorDescriptor *;
using cnnlMatMulDescriptor_t = struct ProductDescriptor *;
using cnnlMatMulAlgo_t = struct Algorithm *;
using cnnlMatMulHeuristicResult_t = struct Heuristic *;
using cnnlMatMulPrefer_t = void *;
using cnnlActivationDescriptor_t = struct ActivationDescriptor *;
using cnnlOpTensorDescriptor_t = struct OpTensorDescriptor *;
using cnnlFlashAttentionDescriptor_t = struct FlashAttentionDescriptor *;
using cnnlTensorLayout_t = int;
using cnnlDataType_t = int;
using cnnlMatMulDescAttribute_t = int;

using cnclResult_t = int;
using cnclDataType_t = int;
using cnclReduceOp_t = int;
using cnclComm_t = void *;
struct cnclCliqueId {
    char data[128];
    uint64_t hash;
};
using cnclCliqueId_t = cnclCliqueId *;
