// The back-end contract together with the first-generation API. The contract includes the
// CUDA-aligned API, which declares functions of the same names; it needs only the following types,
// by name.
#pragma once

#include "infinirt.h"

#ifndef INFINI_BACKEND_H
#define INFINIRT_RUNTIME_API_H
extern "C" {
enum infinirtError : int;
typedef enum infinirtError infinirtError_t;
enum infinirtDeviceAttr : int;
typedef struct infinirtIpcMemHandle infinirtIpcMemHandle_t;
typedef struct infinirtIpcEventHandle infinirtIpcEventHandle_t;
}
#include <infini/backend.h>
#undef INFINIRT_RUNTIME_API_H
#endif
