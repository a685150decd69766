// Memory that other processes can map.
//
// It is a memfd: an anonymous file that is deleted with its last user, so nothing is left behind
// when processes die. Others open it as /proc/<pid>/fd/<fd> while the exporter keeps it open.
#pragma once

#include <cstdint>

#include "error.h"

namespace infini::cpu {

enum class IpcKind : uint32_t { Memory = 1, Event = 2 };

// The contents of an opaque 64-byte handle of the API.
struct IpcHandle {
    uint64_t magic;
    IpcKind kind;
    int32_t pid;
    int32_t fd;
    uint64_t nonce;  // also part of the file's name, to detect a reused descriptor number
    uint64_t bytes;
};
static_assert(sizeof(IpcHandle) <= sizeof(infinirtIpcMemHandle_t));
static_assert(sizeof(IpcHandle) <= sizeof(infinirtIpcEventHandle_t));

// Creates a file of zeros and a handle to it. The caller closes handle->fd.
Error ipc_create(IpcKind kind, size_t bytes, IpcHandle *handle);

// Opens the file of a handle from any process, after checking that it matches the handle.
Error ipc_open(IpcKind kind, const void *opaque, IpcHandle *handle, int *fd);

// Maps the whole file, at a given address if `place` is not null. Null on failure.
void *ipc_map(int fd, size_t bytes, void *place = nullptr);

}  // namespace infini::cpu
