// Types of CANN's interfaces that the signatures in facts/ascend.json name.
#pragma once

#include <cstddef>
#include <cstdint>

using aclError = int;
using aclnnStatus = int;
using aclrtStream = void *;
using aclrtEvent = void *;
using aclrtMemMallocPolicy = int;
using aclrtMemcpyKind = int;
using aclrtMemAttr = int;
using aclrtStreamStatus = int;
using aclrtEventRecordedStatus = int;
using aclrtDevAttr = int;
using aclmdlRICaptureMode = int;
using aclmdlRICaptureStatus = int;
using aclmdlRI = void *;
using aclrtLastErrLevel = int;
using aclrtCallbackBlockType = int;
struct aclrtMallocConfig;
struct aclrtPtrAttributes;
using aclDataType = int;
using aclFormat = int;
struct aclTensor;
struct aclScalar;
struct aclIntArray;
struct aclTensorList;
struct aclOpExecutor;

using HcclResult = int;
using HcclDataType = int;
using HcclReduceOp = int;
using HcclComm = void *;
struct HcclRootInfo {
    char internal[4108];
};
struct HcclSendRecvItem;
