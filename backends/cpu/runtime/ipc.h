// Memory that other processes can map.
//
// It lies in a memfd: a file without a name that vanishes with its last user, so nothing is left
// behind when processes die. Others reach it as /proc/<pid>/fd/<fd> as long as the exporter holds
// it open.
#pragma once

#include <cstdint>

#include "error.h"

namespace infini::cpu {

enum class IpcKind : uint32_t { Memory = 1, Event = 2 };

// What an opaque 64-byte handle of the API holds.
struct IpcHandle {
    uint64_t magic;
    IpcKind kind;
    int32_t pid;
    int32_t fd;
    uint64_t nonce;  // also part of the file's name: a number reused by another file is noticed
    uint64_t bytes;
};
static_assert(sizeof(IpcHandle) <= sizeof(infinirtIpcMemHandle_t));
static_assert(sizeof(IpcHandle) <= sizeof(infinirtIpcEventHandle_t));

// Makes a file of zeros and the handle to it. The caller closes handle->fd.
Error ipc_create(IpcKind kind, size_t bytes, IpcHandle *handle);

// Opens the file of a handle, from whatever process, after checking that it is what the handle
// says.
Error ipc_open(IpcKind kind, const void *opaque, IpcHandle *handle, int *fd);

// Maps the whole file, at a given address if `place` is not null. Null on failure.
void *ipc_map(int fd, size_t bytes, void *place = nullptr);

}  // namespace infini::cpu
