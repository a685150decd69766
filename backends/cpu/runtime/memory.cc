#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "ipc.h"
#include "machine.h"
#include "sync.h"

namespace infini::cpu {
namespace {

constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kHugeFrom = 2 * kHugePage;  // smaller allocations would waste much of a huge page

std::atomic<size_t> used{0};

struct Exports {
    Mutex lock;
    std::map<void *, IpcHandle>
        handles;  // by address; their files are open until the memory is released
};

Exports &exports() {
    static auto *instance = new Exports;
    return *instance;
}

size_t whole_pages(size_t bytes) {
    static const size_t page = size_t(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

void *map_pages(size_t bytes) {
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// Aligned to huge pages, which are requested from the system: fewer page faults and TLB misses.
void *map_huge_pages(size_t bytes) {
    auto *wide = static_cast<char *>(map_pages(bytes + kHugePage));
    if (!wide) return nullptr;
    size_t before = -reinterpret_cast<uintptr_t>(wide) % kHugePage;
    if (before) munmap(wide, before);
    munmap(wide + before + bytes, kHugePage - before);
    madvise(wide + before, bytes, MADV_HUGEPAGE);
    return wide + before;
}

}  // namespace

Error memory_allocate(size_t bytes, void **memory) {
    size_t total = memory_total();
    if (bytes > total)
        return fail(infinirtErrorMemoryAllocation,
                    "%zu bytes asked for, but the device has only %zu", bytes, total);
    size_t size = whole_pages(bytes);
    size_t before = used.fetch_add(size);
    if (before + size > total) {
        used.fetch_sub(size);
        return fail(infinirtErrorMemoryAllocation,
                    "%zu bytes asked for, but %zu of the device's %zu are in use by this process",
                    bytes, before, total);
    }
    *memory = size < kHugeFrom ? map_pages(size) : map_huge_pages(size);
    if (*memory) return infinirtSuccess;
    int reason = errno;
    used.fetch_sub(size);
    return fail(infinirtErrorMemoryAllocation, "the system gives no %zu bytes: %s", bytes,
                strerror(reason));
}

Error memory_allocate_host(size_t bytes, void **memory) {
    if (Error error = memory_allocate(bytes, memory)) return error;
    // Locks pages on first touch, if this user is permitted to; optional.
    mlock2(*memory, whole_pages(bytes), MLOCK_ONFAULT);
    return infinirtSuccess;
}

Error memory_release(void *memory, size_t bytes) {
    {
        std::lock_guard guard(exports().lock);
        auto entry = exports().handles.find(memory);
        if (entry != exports().handles.end()) {
            close(entry->second.fd);
            exports().handles.erase(entry);
        }
    }
    size_t size = whole_pages(bytes);
    munmap(memory, size);
    used.fetch_sub(size);
    return infinirtSuccess;
}

Error memory_info(size_t *free_bytes, size_t *total_bytes) {
    // Pages count as available until they are touched, but a client expects its allocations to
    // reduce the free memory immediately. So the amount that was available before any allocation is
    // kept for comparison.
    static std::atomic<size_t> available_at_first{0};
    size_t total = memory_total(), available = memory_available(), taken = used.load();
    size_t first = available_at_first.load();
    if (taken == 0 || available > first) available_at_first.store(first = available);
    *total_bytes = total;
    *free_bytes =
        std::min({available, first - std::min(first, taken), total - std::min(total, taken)});
    return infinirtSuccess;
}

// ---- Between processes --------------------------------------------------------------------------

Error memory_export(void *memory, size_t bytes, infinirtIpcMemHandle_t *opaque) {
    std::lock_guard guard(exports().lock);
    auto entry = exports().handles.find(memory);
    if (entry == exports().handles.end()) {
        IpcHandle handle;
        size_t size = whole_pages(bytes);
        if (Error error = ipc_create(IpcKind::Memory, size, &handle)) return error;
        void *alias = ipc_map(handle.fd, size);
        if (alias) memcpy(alias, memory, bytes);
        void *moved = alias ? ipc_map(handle.fd, size, memory) : nullptr;
        int reason = errno;
        if (alias) munmap(alias, size);
        if (!moved) {
            close(handle.fd);
            return fail(infinirtErrorMapBufferObjectFailed, "cannot share %zu bytes: %s", bytes,
                        strerror(reason));
        }
        handle.bytes = bytes;
        entry = exports().handles.emplace(memory, handle).first;
    }
    memset(opaque, 0, sizeof *opaque);
    memcpy(opaque, &entry->second, sizeof entry->second);
    return infinirtSuccess;
}

Error memory_import(const infinirtIpcMemHandle_t &opaque, void **memory, size_t *bytes) {
    IpcHandle handle;
    int fd;
    if (Error error = ipc_open(IpcKind::Memory, &opaque, &handle, &fd)) return error;
    *memory = ipc_map(fd, whole_pages(handle.bytes));
    int reason = errno;
    close(fd);
    if (!*memory)
        return fail(infinirtErrorMapBufferObjectFailed, "cannot map %zu bytes of process %d: %s",
                    size_t(handle.bytes), handle.pid, strerror(reason));
    *bytes = handle.bytes;
    return infinirtSuccess;
}

Error memory_close(void *memory, size_t bytes) {
    munmap(memory, whole_pages(bytes));
    return infinirtSuccess;
}

void memory_lock_for_fork() { exports().lock.lock(); }
void memory_unlock_after_fork() { exports().lock.unlock(); }

}  // namespace infini::cpu
