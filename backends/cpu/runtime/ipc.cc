#include "ipc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace infini::cpu {
namespace {

constexpr uint64_t kIpcMagic = 0x31757063'696e6669;  // "infi", "cpu1"

void file_name(const IpcHandle &handle, char *name, size_t size) {
    snprintf(name, size, "infini-%u-%016" PRIx64, unsigned(handle.kind), handle.nonce);
}

}  // namespace

Error ipc_create(IpcKind kind, size_t bytes, IpcHandle *handle) {
    *handle = {kIpcMagic, kind, getpid(), -1, 0, bytes};
    if (getrandom(&handle->nonce, sizeof handle->nonce, 0) != sizeof handle->nonce)
        handle->nonce = uint64_t(reinterpret_cast<uintptr_t>(handle)) ^ uint64_t(getpid());
    char name[64];
    file_name(*handle, name, sizeof name);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return fail(infinirtErrorOperatingSystem, "cannot make shared memory: %s", strerror(errno));
    if (ftruncate(fd, off_t(bytes)) != 0) {
        int reason = errno;
        close(fd);
        return fail(infinirtErrorMemoryAllocation, "no %zu bytes of shared memory: %s", bytes,
                    strerror(reason));
    }
    // Seals the file, so that it cannot be truncated while other processes map it.
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    handle->fd = fd;
    return infinirtSuccess;
}

Error ipc_open(IpcKind kind, const void *opaque, IpcHandle *handle, int *fd) {
    memcpy(handle, opaque, sizeof *handle);
    if (handle->magic != kIpcMagic || handle->kind != kind)
        return fail(infinirtErrorInvalidValue, "handle is not one that the CPU back end exported%s",
                    handle->magic == kIpcMagic ? " for this purpose" : "");
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", handle->pid, handle->fd);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd < 0)
        return fail(infinirtErrorInvalidResourceHandle,
                    "cannot open what process %d exported: %s; that process must be alive, in the "
                    "same PID namespace and of the same user, and must not have freed it",
                    handle->pid, strerror(errno));
    // The descriptor number, or even the process id, may have been reused.
    char name[64], expected[96], target[128] = "";
    file_name(*handle, name, sizeof name);
    snprintf(expected, sizeof expected, "/memfd:%s (deleted)", name);
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    struct stat status;
    if (length > 0 && strcmp(target, expected) == 0 && fstat(*fd, &status) == 0 &&
        uint64_t(status.st_size) >= handle->bytes)
        return infinirtSuccess;
    close(*fd);
    return fail(infinirtErrorInvalidResourceHandle, "process %d has freed what it exported",
                handle->pid);
}

void *ipc_map(int fd, size_t bytes, void *place) {
    void *memory =
        mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place ? MAP_FIXED : 0), fd, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace infini::cpu
