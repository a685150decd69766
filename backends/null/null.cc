// The smallest correct back end: one device that is the host itself. Work is done inside submit,
// before it returns, so streams and events have nothing to wait for. Clone it (see README.md) and
// replace one part after the other.
#include <infini/backend.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include "interpreter.h"

struct InfiniPlan {
    std::atomic<int> holders{1};
    std::unique_ptr<infini::plain::Plan> program;
};

namespace {

using Error = infinirtError_t;
const InfiniHost *host;

// ---- Devices ------------------------------------------------------------------------------------

constexpr size_t kMemoryBytes = size_t(1) << 30;

Error device_info(int, InfiniDeviceInfo *result) {
    InfiniDeviceInfo info{};
    info.size = result->size;
    snprintf(info.name, sizeof info.name, "null device");
    memcpy(info.uuid, "infini-null-0000", sizeof info.uuid);
    info.memory_bytes = kMemoryBytes;
    info.major = 1;
    info.multiprocessors = 1;
    info.warp_width = 1;
    info.integrated = 1;
    info.host_pointers_usable = 1;
    info.copy_engines = 1;
    // A core older than this header has a shorter struct.
    memcpy(result, &info, info.size < sizeof info ? info.size : sizeof info);
    return infinirtSuccess;
}

Error device_memory(int, size_t *free_bytes, size_t *total_bytes) {
    *free_bytes = *total_bytes = kMemoryBytes;
    return infinirtSuccess;
}

Error device_synchronize(int) { return infinirtSuccess; }

// ---- Memory -------------------------------------------------------------------------------------

Error allocate(int, size_t bytes, void **memory) {
    constexpr size_t kAlignment = 256;
    *memory = nullptr;
    if (bytes <= kMemoryBytes)
        *memory =
            std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (*memory) return infinirtSuccess;
    host->explain("the null device has no such amount of memory; ask for less");
    return infinirtErrorMemoryAllocation;
}

Error release(int, void *memory, size_t) {
    std::free(memory);
    return infinirtSuccess;
}

// ---- Streams ------------------------------------------------------------------------------------

struct Event {
    bool timed = true, recorded = false;
    std::chrono::steady_clock::time_point time;
    void record() { recorded = true, time = std::chrono::steady_clock::now(); }
};

Error stream_create(int, unsigned, int, void **stream) {
    static char any;  // streams have no state, so one object serves all of them
    *stream = &any;
    return infinirtSuccess;
}

// Query, synchronize, destroy: there is nothing to wait for, nor to free.
Error nothing_to_do(int, void *) { return infinirtSuccess; }

void copy(const InfiniCopy &box) {
    for (size_t z = 0; z < box.depth; ++z)
        for (size_t y = 0; y < box.height; ++y)
            memmove(static_cast<char *>(box.dst) + z * box.dst_slice + y * box.dst_pitch,
                    static_cast<const char *>(box.src) + z * box.src_slice + y * box.src_pitch,
                    box.width);
}

void fill(const InfiniFill &box) {
    for (size_t z = 0; z < box.depth; ++z)
        for (size_t y = 0; y < box.height; ++y) {
            char *row = static_cast<char *>(box.dst) + z * box.slice + y * box.pitch;
            for (size_t x = 0; x < box.width * box.element; ++x)
                row[x] = char(box.value >> (8 * (x % box.element)));
        }
}

Error submit(int, void *, const InfiniWork *work, size_t count) {
    for (size_t i = 0; i < count; ++i) switch (work[i].kind) {
            case INFINI_WORK_COPY:
                copy(work[i].as.copy);
                break;
            case INFINI_WORK_FILL:
                fill(work[i].as.fill);
                break;
            case INFINI_WORK_HOST:
                work[i].as.host.function(work[i].as.host.data);
                break;
            case INFINI_WORK_RECORD:
                static_cast<Event *>(work[i].as.event)->record();
                break;
            case INFINI_WORK_WAIT:
                break;  // all recorded work is complete
            case INFINI_WORK_KERNEL:
                work[i].as.kernel.plan->program->run({*work[i].as.kernel.arguments});
                break;
            default:
                host->explain("the null back end is older than this kind of work");
                return infinirtErrorNotSupported;
        }
    return infinirtSuccess;
}

// ---- Events -------------------------------------------------------------------------------------

Error event_create(int, unsigned flags, void **event) {
    *event = new (std::nothrow) Event{!(flags & infinirtEventDisableTiming), false, {}};
    return *event ? infinirtSuccess : infinirtErrorMemoryAllocation;
}

Error event_destroy(int, void *event) {
    delete static_cast<Event *>(event);
    return infinirtSuccess;
}

Error event_elapsed(void *start, void *end, float *milliseconds) {
    auto *first = static_cast<Event *>(start), *second = static_cast<Event *>(end);
    if (!first->timed || !second->timed || !first->recorded || !second->recorded) {
        host->explain(
            "both events must be recorded, and neither made with infinirtEventDisableTiming");
        return infinirtErrorInvalidResourceHandle;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
    return infinirtSuccess;
}

// ---- Operators ----------------------------------------------------------------------------------

int plan(int, const InfiniOperation *operation, InfiniPlan **result, size_t *workspace_bytes) {
    try {
        auto made = std::make_unique<InfiniPlan>();
        made->program = infini::plain::plan(infini::Operation(*operation));
        *workspace_bytes = made->program->workspace;
        *result = made.release();
        return INFINI_STATUS_SUCCESS;
    } catch (const infini::Refusal &refusal) {
        host->explain(refusal.sentence.c_str());
        return refusal.status;
    } catch (const std::exception &error) {
        host->explain(error.what());
        return INFINI_STATUS_INTERNAL_ERROR;
    }
}

void hold(InfiniPlan *plan) { ++plan->holders; }

void drop(InfiniPlan *plan) {
    if (--plan->holders == 0) delete plan;
}

// ---- The tables ---------------------------------------------------------------------------------

const InfiniDriver driver = {
    sizeof(InfiniDriver),  // size

    device_info,         // device_info
    device_memory,       // device_memory
    device_synchronize,  // device_synchronize
    nullptr,             // device_attribute
    nullptr,             // peer_access

    allocate,  // allocate
    release,   // release
    nullptr,   // allocate_host
    nullptr,   // release_host
    nullptr,   // register_host
    nullptr,   // unregister_host
    nullptr,   // allocate_managed

    stream_create,  // stream_create
    nothing_to_do,  // stream_destroy
    nothing_to_do,  // stream_query
    nothing_to_do,  // stream_synchronize
    submit,         // submit

    event_create,   // event_create
    event_destroy,  // event_destroy
    nothing_to_do,  // event_query
    nothing_to_do,  // event_synchronize
    event_elapsed,  // event_elapsed

    nullptr,  // memory_export
    nullptr,  // memory_import
    nullptr,  // memory_close
    nullptr,  // event_export
    nullptr,  // event_import
    nullptr,  // device_query
};

const InfiniOperators operators = {sizeof(InfiniOperators), plan, hold, drop};

int probe(char *, size_t) { return 1; }
const InfiniBackend backend = {
    sizeof(InfiniBackend),  // size
    INFINI_BACKEND_ABI,     // abi
    "null",                 // name
    "nobody",               // vendor
    "1.0",                  // version
    probe,                  // probe
    &driver,                // driver
    nullptr,                // function
    &operators,             // operators
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const InfiniBackend *infini_backend_open(
    const InfiniHost *offered) {
    host = offered;
    return offered->abi == INFINI_BACKEND_ABI ? &backend : nullptr;
}
