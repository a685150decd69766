// The null back end: the smallest one that is correct. One device whose memory is host memory; work
// runs inside submit(), on the calling thread. Clone it, then replace one function after the other
// by your runtime's.
#include <infini/backend.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr size_t kMemory = size_t(1) << 30;
const InfiniHost *host;

infinirtError_t fail(infinirtError_t code, const char *sentence) {
    host->explain(sentence);
    return code;
}

// ---- Devices ----------------------------------------------------------------------------------

int probe(char *reason, size_t reason_bytes) {
    // Open your vendor's libraries here with dlopen. What is missing is the reason, not an error.
    if (std::getenv("INFINI_NULL_ABSENT")) {
        std::snprintf(reason, reason_bytes, "INFINI_NULL_ABSENT is set");
        return 0;
    }
    return 1;
}

infinirtError_t device_info(int, InfiniDeviceInfo *info) {
    std::snprintf(info->name, sizeof info->name, "null device");
    info->memory_bytes = kMemory;
    info->multiprocessors = 1;
    info->warp_width = 1;
    info->integrated = 1;
    info->host_pointers_usable = 1;
    return infinirtSuccess;
}

infinirtError_t device_memory(int, size_t *free_bytes, size_t *total_bytes) {
    *free_bytes = *total_bytes = kMemory;
    return infinirtSuccess;
}

// All work is done when submit() returns, so there is never anything to wait for.
infinirtError_t device_synchronize(int) { return infinirtSuccess; }

// ---- Memory -----------------------------------------------------------------------------------

infinirtError_t allocate(int, size_t bytes, void **memory) {
    if (bytes > kMemory) return fail(infinirtErrorMemoryAllocation, "the null device has 1 GiB");
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    return *memory ? infinirtSuccess : fail(infinirtErrorMemoryAllocation, "out of memory");
}

infinirtError_t release(int, void *memory, size_t) {
    std::free(memory);
    return infinirtSuccess;
}

// ---- Events -----------------------------------------------------------------------------------

struct Event {
    bool timed, recorded = false;
    std::chrono::steady_clock::time_point time{};
};

infinirtError_t event_create(int, unsigned flags, void **event) {
    *event = new (std::nothrow) Event{.timed = !(flags & infinirtEventDisableTiming)};
    return *event ? infinirtSuccess : fail(infinirtErrorMemoryAllocation, "out of memory");
}

infinirtError_t event_destroy(int, void *event) {
    delete static_cast<Event *>(event);
    return infinirtSuccess;
}

infinirtError_t event_query(int, void *) { return infinirtSuccess; }
infinirtError_t event_synchronize(int, void *) { return infinirtSuccess; }

infinirtError_t event_elapsed(void *start, void *end, float *milliseconds) {
    auto *a = static_cast<Event *>(start), *b = static_cast<Event *>(end);
    if (!a->timed || !b->timed || !a->recorded || !b->recorded)
        return infinirtErrorInvalidResourceHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(b->time - a->time).count();
    return infinirtSuccess;
}

// ---- Streams ----------------------------------------------------------------------------------

// A stream needs no state here, but each needs a handle of its own: null is the legacy stream.
infinirtError_t stream_create(int, unsigned, int, void **stream) {
    *stream = std::malloc(1);
    return *stream ? infinirtSuccess : fail(infinirtErrorMemoryAllocation, "out of memory");
}

infinirtError_t stream_destroy(int, void *stream) {
    std::free(stream);
    return infinirtSuccess;
}

infinirtError_t stream_query(int, void *) { return infinirtSuccess; }
infinirtError_t stream_synchronize(int, void *) { return infinirtSuccess; }

void copy(const InfiniCopy &box) {
    for (size_t z = 0; z < box.depth; ++z)
        for (size_t y = 0; y < box.height; ++y)
            std::memmove(static_cast<char *>(box.dst) + z * box.dst_slice + y * box.dst_pitch,
                         static_cast<const char *>(box.src) + z * box.src_slice + y * box.src_pitch,
                         box.width);
}

void fill(const InfiniFill &box) {
    for (size_t z = 0; z < box.depth; ++z)
        for (size_t y = 0; y < box.height; ++y)
            for (size_t x = 0; x < box.width; ++x)
                std::memcpy(
                    static_cast<char *>(box.dst) + z * box.slice + y * box.pitch + x * box.element,
                    &box.value, box.element);  // little-endian: the low bytes come first
}

infinirtError_t submit(int, void *, const InfiniWork *work, size_t count) {
    for (const InfiniWork *item = work; item != work + count; ++item) {
        switch (item->kind) {
            case INFINI_WORK_COPY:
                copy(item->as.copy);
                break;
            case INFINI_WORK_FILL:
                fill(item->as.fill);
                break;
            case INFINI_WORK_HOST:
                item->as.host.function(item->as.host.data);
                break;
            case INFINI_WORK_RECORD: {
                auto *event = static_cast<Event *>(item->as.event);
                event->recorded = true;
                event->time = std::chrono::steady_clock::now();
                break;
            }
            case INFINI_WORK_WAIT:
                break;  // what was recorded has happened
        }
    }
    return infinirtSuccess;
}

// ---- The tables -------------------------------------------------------------------------------

const InfiniDriver kDriver{
    .size = sizeof(InfiniDriver),
    .device_info = device_info,
    .device_memory = device_memory,
    .device_synchronize = device_synchronize,
    .device_attribute = nullptr,  // from device_info
    .peer_access = nullptr,       // no peers
    .allocate = allocate,
    .release = release,
    .allocate_host = nullptr,  // plain host memory
    .release_host = nullptr,
    .register_host = nullptr,  // no effect
    .unregister_host = nullptr,
    .allocate_managed = allocate,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .submit = submit,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
    .memory_export = nullptr,  // no IPC
    .memory_import = nullptr,
    .memory_close = nullptr,
    .event_export = nullptr,
    .event_import = nullptr,
};

const InfiniBackend kBackend{
    .size = sizeof(InfiniBackend),
    .abi = INFINI_BACKEND_ABI,
    .name = "null",
    .vendor = "nobody",
    .version = "1",
    .probe = probe,
    .driver = &kDriver,
    .function = nullptr,  // the core's software serves every function
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const InfiniBackend *infini_backend_open(
    const InfiniHost *core) {
    host = core;
    return &kBackend;
}
