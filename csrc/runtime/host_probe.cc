// Probes whether host memory unknown to the runtime is mapped, so that a wild pointer gives an
// error instead of a crash.
//
// Limits: only the first and the last page of a range are probed, and each thread caches the
// results. Memory that is unmapped or protected later, or has a hole in the middle, is not noticed.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "memory.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

namespace infini::rt {
namespace {

const uintptr_t page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));

// Slow but exact. True if the question cannot be answered.
bool mapped(uintptr_t address, bool write) {
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return true;
    uintptr_t begin, end;
    char read_flag, write_flag, line[512];
    bool found = false, allowed = false;
    while (!found && fgets(line, sizeof line, maps)) {
        // A name longer than the buffer continues as another line, which does not parse as a range.
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c%c", &begin, &end, &read_flag, &write_flag) !=
            4)
            continue;
        found = address - begin < end - begin;
        if (found) allowed = read_flag == 'r' && (!write || write_flag == 'w');
    }
    fclose(maps);
    return found && allowed;
}

bool probe_page(MemoryCache &cache, uintptr_t address, bool write) {
    if (cache.knows_page(address, write)) return true;
    int saved = errno;
    bool there = false;
    // Faulting in the page does what the access would do anyway, and reports whether it is allowed.
    if (madvise(reinterpret_cast<void *>(address / page_bytes * page_bytes), page_bytes,
                write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
        there = true;
    else if (errno == EINVAL)
        // An old kernel, device memory that the client mapped, or not permitted.
        there = mapped(address, write);
    errno = saved;
    if (there)
        cache.page_of(address) =
            address / MemoryCache::kPageBytes * MemoryCache::kPageBytes | (write ? 3 : 1);
    return there;
}

}  // namespace

bool probe_host(MemoryCache &cache, const void *pointer, size_t bytes, bool write) {
    auto first = reinterpret_cast<uintptr_t>(pointer);
    uintptr_t last = first + (bytes - 1);
    return last >= first && probe_page(cache, first, write) && probe_page(cache, last, write);
}

}  // namespace infini::rt
