// The simulated device: the CPU back end, reported as a GPU, whose memory is full of garbage until
// it is written.
//
// INFINI_SIM_DEVICES=N  makes N of them.
// INFINI_SIMULATED_GUARD=1    puts each allocation against the end of its pages, before a page that
//                             nobody may touch: what goes beyond it stops at once.
#include <dlfcn.h>
#include <infini/backend.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "hopper.h"

namespace simulated {
namespace {

using Error = infinirtError_t;

constexpr size_t kPage = size_t(64) << 10;  // the largest that Linux uses here
constexpr size_t kAlignment = 256;          // as cudaMalloc's

const InfiniBackend *cpu = nullptr;
InfiniDriver driver;

// Guarded allocations: their addresses, and the mappings that hold them.
struct Mapping {
    void *start;
    size_t bytes;
};
std::mutex lock;
std::map<void *, Mapping> mappings;

// All memory that a kernel may use, by end address.
std::map<uintptr_t, uintptr_t> ranges;

void remember(void *memory, size_t bytes) {
    auto start = reinterpret_cast<uintptr_t>(memory);
    std::lock_guard guard(lock);
    ranges[start + bytes] = start;
}

void forget(void *memory, size_t bytes) {
    std::lock_guard guard(lock);
    ranges.erase(reinterpret_cast<uintptr_t>(memory) + bytes);
}

bool guarded() {
    static const bool value = getenv("INFINI_SIMULATED_GUARD") != nullptr;
    return value;
}

// Only the ends of large allocations: filling 16 GiB takes longer than many tests.
void spoil(void *memory, size_t bytes) {
    constexpr size_t kEnd = size_t(32) << 20;
    char *start = static_cast<char *>(memory);
    memset(start, kGarbage, std::min(bytes, kEnd));
    if (bytes > kEnd) memset(start + bytes - kEnd, kGarbage, kEnd);
}

Error get_memory(int device, size_t bytes, void **memory) {
    if (!guarded()) {
        Error error = cpu->driver->allocate(device, bytes, memory);
        if (!error) spoil(*memory, bytes);
        return error;
    }
    size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    size_t whole = (size + kPage - 1) / kPage * kPage + 2 * kPage;
    void *start = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return infinirtErrorMemoryAllocation;
    char *end = static_cast<char *>(start) + whole - kPage;
    mprotect(static_cast<char *>(start) + kPage, whole - 2 * kPage, PROT_READ | PROT_WRITE);
    *memory = end - size;
    spoil(*memory, size);
    std::lock_guard guard(lock);
    mappings[*memory] = {start, whole};
    return infinirtSuccess;
}

Error allocate(int device, size_t bytes, void **memory) {
    Error error = get_memory(device, bytes, memory);
    if (!error) remember(*memory, bytes);
    return error;
}

Error release(int device, void *memory, size_t bytes) {
    forget(memory, bytes);
    if (!guarded()) return cpu->driver->release(device, memory, bytes);
    std::lock_guard guard(lock);
    auto found = mappings.find(memory);
    for (size_t i = bytes; i < (bytes + kAlignment - 1) / kAlignment * kAlignment; ++i)
        if (static_cast<unsigned char *>(memory)[i] != kGarbage) {
            fprintf(stderr, "simulated CUDA: byte %zu behind an allocation of %zu was written\n",
                    i - bytes, bytes);
            break;
        }
    munmap(found->second.start, found->second.bytes);
    mappings.erase(found);
    return infinirtSuccess;
}

Error allocate_host(size_t bytes, unsigned flags, void **memory) {
    Error error = cpu->driver->allocate_host(bytes, flags, memory);
    if (!error) remember(*memory, bytes);
    return error;
}

Error release_host(void *memory, size_t bytes) {
    forget(memory, bytes);
    return cpu->driver->release_host(memory, bytes);
}

Error register_host(void *memory, size_t bytes, unsigned) {
    remember(memory, bytes);
    return infinirtSuccess;
}

Error unregister_host(void *memory, size_t bytes) {
    forget(memory, bytes);
    return infinirtSuccess;
}

Error import_memory(int device, const infinirtIpcMemHandle_t *handle, void **memory,
                    size_t *bytes) {
    Error error = cpu->driver->memory_import(device, handle, memory, bytes);
    if (!error) remember(*memory, *bytes);
    return error;
}

Error close_memory(int device, void *memory, size_t bytes) {
    forget(memory, bytes);
    return cpu->driver->memory_close(device, memory, bytes);
}

std::atomic<long> streams, events;

Error create_stream(int device, unsigned flags, int priority, void **stream) {
    Error error = cpu->driver->stream_create(device, flags, priority, stream);
    if (!error) ++streams;
    return error;
}

Error destroy_stream(int device, void *stream) {
    --streams;
    return cpu->driver->stream_destroy(device, stream);
}

Error create_event(int device, unsigned flags, void **event) {
    Error error = cpu->driver->event_create(device, flags, event);
    if (!error) ++events;
    return error;
}

Error destroy_event(int device, void *event) {
    --events;
    return cpu->driver->event_destroy(device, event);
}

Error device_info(int device, InfiniDeviceInfo *info) {
    if (Error error = cpu->driver->device_info(device, info)) return error;
    snprintf(info->name, sizeof info->name, "%s", Profile::get().device.c_str());
    snprintf(info->bus_id, sizeof info->bus_id, "0000:%02x:00.0", device + 1);
    info->memory_bytes = kMemory;
    info->major = capability() / 10;
    info->minor = capability() % 10;
    info->multiprocessors = kMultiprocessors;
    info->l2_bytes = 50 << 20;
    info->warp_width = Profile::get().warp;
    info->integrated = 0;
    info->host_pointers_usable = 0;
    return infinirtSuccess;
}

Error device_memory(int device, size_t *free_bytes, size_t *total_bytes) {
    if (Error error = cpu->driver->device_memory(device, free_bytes, total_bytes)) return error;
    size_t used = *total_bytes - std::min(*total_bytes, *free_bytes);
    *total_bytes = kMemory;
    *free_bytes = kMemory - std::min(kMemory, used);
    return infinirtSuccess;
}

Error device_attribute(int, infinirtDeviceAttr attribute, int *value) {
    if (attribute_of(attribute, value)) return infinirtSuccess;
    return infinirtErrorNotSupported;  // the core answers from device_info
}

int probe(char *reason, size_t reason_bytes) {
    int devices = cpu->probe(reason, reason_bytes);
    *reason = '\0';
    return devices;
}

InfiniBackend backend;

}  // namespace
}  // namespace simulated

extern "C" __attribute__((visibility("default"))) const InfiniBackend *infini_backend_open(
    const InfiniHost *host) {
    using namespace simulated;
    Dl_info self;
    dladdr(reinterpret_cast<void *>(&infini_backend_open), &self);
    std::string path = self.dli_fname;
    path = path.substr(0, path.rfind("/backends/")) + "/libinfini_cpu.so";
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "simulated CUDA: %s\n", dlerror());
        return nullptr;
    }
    cpu = reinterpret_cast<InfiniBackendOpen>(dlsym(library, INFINI_BACKEND_OPEN))(host);
    if (!cpu) return nullptr;
    driver = *cpu->driver;
    driver.device_info = device_info;
    driver.device_memory = device_memory;
    driver.device_attribute = device_attribute;
    driver.allocate = allocate;
    driver.release = release;
    driver.allocate_managed = allocate;
    driver.allocate_host = allocate_host;
    driver.release_host = release_host;
    driver.register_host = register_host;
    driver.unregister_host = unregister_host;
    driver.stream_create = create_stream;
    driver.stream_destroy = destroy_stream;
    driver.event_create = create_event;
    driver.event_destroy = destroy_event;
    driver.memory_import = import_memory;
    driver.memory_close = close_memory;
    backend = *cpu;
    backend.name = "simulated";
    backend.vendor = "infinicore's tests";
    backend.driver = &driver;
    backend.probe = probe;
    backend.operators = nullptr;
    return &backend;
}

// For the simulated driver: the allocation that contains an address.
extern "C" __attribute__((visibility("default"))) bool simulatedFindMemory(uintptr_t address,
                                                                           uintptr_t *start,
                                                                           uintptr_t *end) {
    using namespace simulated;
    std::lock_guard guard(lock);
    auto found = ranges.upper_bound(address);
    if (found == ranges.end() || found->second > address) return false;
    *start = found->second;
    *end = found->first;
    return true;
}

// For tests: allocations, streams and events that exist.
extern "C" __attribute__((visibility("default"))) void simulatedLive(long live[3]) {
    using namespace simulated;
    std::lock_guard guard(lock);
    live[0] = long(ranges.size());
    live[1] = streams;
    live[2] = events;
}
