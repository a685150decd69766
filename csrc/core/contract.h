// The back-end contract beside the first-generation face. The contract includes the aligned face,
// which declares functions of the same names; of all that it needs only these types, and those by
// name.
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
