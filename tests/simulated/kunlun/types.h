// Types of XRE's interfaces that the signatures in facts/kunlun*.json name.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kunlun/bkcl.h"

using XPUStream = void *;
using XPUEvent = void *;
using XPUMemcpyKind = int;
using XPUMemoryKind = int;
using XPUDeviceAttr = int;

using cublasStatus_t = int;
using cublasHandle_t = struct Handle *;

using BKCLResult_t = int;
using BKCLContext_t = void *;
struct BKCLUniqueId {
    char data[BKCL_UNIQUE_ID_BYTES];
};
