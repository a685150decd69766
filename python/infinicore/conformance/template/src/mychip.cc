// The back end for mychip. As it was written by `infini new-backend` its device is the host itself:
// memory is host memory, a stream is a thread. Replace one function after the other by your
// runtime's; README.md has the order. The contract is infini/backend.h.
#include <infini/backend.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "interpreter.h"
#include "queue.h"

struct InfiniPlan {
    std::atomic<int> holders{1};
    std::unique_ptr<infini::plain::Plan> program;
};

namespace {

using Error = infinirtError_t;
using infini_mychip::Event;
using infini_mychip::Queue;
const InfiniHost *host;

// Never destroyed: threads of streams may outlive main.
infini_mychip::Streams &streams() {
    static auto *made = new infini_mychip::Streams;
    return *made;
}

// ---- Devices: your runtime's device count and properties ------------------------------------------

constexpr size_t kMemoryBytes = size_t(1) << 30;
std::atomic<size_t> used{0};

int probe(char *reason, size_t reason_bytes) {
    // Open your runtime's library here with dlopen, and count its devices. Without it:
    //   snprintf(reason, reason_bytes, "libmychip.so.1 was not found; install the driver");
    //   return 0;
    (void)reason, (void)reason_bytes;
    return 1;
}

Error device_info(int, InfiniDeviceInfo *result) {
    InfiniDeviceInfo info{};
    info.size = result->size;
    snprintf(info.name, sizeof info.name, "mychip, on the host");
    snprintf(reinterpret_cast<char *>(info.uuid), sizeof info.uuid, "mychip");
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
    *total_bytes = kMemoryBytes;
    *free_bytes = kMemoryBytes - used;
    return infinirtSuccess;
}

Error device_synchronize(int) {
    streams().wait();
    return infinirtSuccess;
}

Error device_query(int) { return streams().idle() ? infinirtSuccess : infinirtErrorNotReady; }

// ---- Memory: your runtime's malloc and free -------------------------------------------------------

Error allocate(int, size_t bytes, void **memory) {
    constexpr size_t kAlignment = 256;
    *memory = nullptr;
    if (bytes > kMemoryBytes || used.fetch_add(bytes) > kMemoryBytes - bytes) {
        if (bytes <= kMemoryBytes) used -= bytes;
        host->explain("mychip has no such amount of memory; ask for less");
        return infinirtErrorMemoryAllocation;
    }
    *memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (*memory) return infinirtSuccess;
    used -= bytes;
    host->explain("the host has no such amount of memory");
    return infinirtErrorMemoryAllocation;
}

Error release(int, void *memory, size_t bytes) {
    std::free(memory);
    used -= bytes;
    return infinirtSuccess;
}

// ---- Streams: your runtime's, one to one ----------------------------------------------------------

Error stream_create(int, unsigned flags, int, void **stream) {
    *stream = streams().make(!(flags & infinirtStreamNonBlocking));
    return infinirtSuccess;
}

Error stream_destroy(int, void *stream) {
    static_cast<Queue *>(stream)->close();
    return infinirtSuccess;
}

Error stream_query(int, void *stream) {
    return streams().idle(static_cast<Queue *>(stream)) ? infinirtSuccess : infinirtErrorNotReady;
}

Error stream_synchronize(int, void *stream) {
    streams().wait(static_cast<Queue *>(stream));
    return infinirtSuccess;
}

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

void hold(InfiniPlan *plan) { ++plan->holders; }

void drop(InfiniPlan *plan) {
    if (--plan->holders == 0) delete plan;
}

// A run of a plan: arguments live only during submit, so they are copied.
std::function<void()> kernel(const InfiniKernel &given) {
    const InfiniArguments &arguments = *given.arguments;
    hold(given.plan);
    return [plan = std::shared_ptr<InfiniPlan>(given.plan, drop),
            pointers = std::vector<void *>(arguments.pointers,
                                           arguments.pointers + arguments.pointer_count),
            scalars = std::vector<InfiniScalar>(arguments.scalars,
                                                arguments.scalars + arguments.scalar_count),
            workspace = arguments.workspace] {
        plan->program->run(
            {{pointers.data(), scalars.data(), pointers.size(), scalars.size(), workspace}});
    };
}

Error submit(int, void *stream, const InfiniWork *work, size_t count) {
    std::vector<std::function<void()>> items;
    for (size_t i = 0; i < count; ++i) switch (work[i].kind) {
            case INFINI_WORK_COPY:
                items.push_back([box = work[i].as.copy] { copy(box); });
                break;
            case INFINI_WORK_FILL:
                items.push_back([box = work[i].as.fill] { fill(box); });
                break;
            case INFINI_WORK_HOST:
                items.push_back([call = work[i].as.host] { call.function(call.data); });
                break;
            case INFINI_WORK_RECORD:
                items.push_back([record = static_cast<Event *>(work[i].as.event)->begin()] {
                    record->finish();
                });
                break;
            case INFINI_WORK_WAIT:
                if (auto record = static_cast<Event *>(work[i].as.event)->last())
                    items.push_back([record] { record->wait(); });
                break;
            case INFINI_WORK_KERNEL:
                items.push_back(kernel(work[i].as.kernel));
                break;
            default:
                host->explain("the back end for mychip is older than this kind of work");
                return infinirtErrorNotSupported;
        }
    streams().submit(static_cast<Queue *>(stream), std::move(items));
    return infinirtSuccess;
}

// ---- Events: your runtime's, one to one -----------------------------------------------------------

Error event_create(int, unsigned flags, void **event) {
    *event = new (std::nothrow) Event(!(flags & infinirtEventDisableTiming));
    return *event ? infinirtSuccess : infinirtErrorMemoryAllocation;
}

Error event_destroy(int, void *event) {
    delete static_cast<Event *>(event);
    return infinirtSuccess;
}

Error event_query(int, void *event) {
    auto record = static_cast<Event *>(event)->last();
    return !record || record->done() ? infinirtSuccess : infinirtErrorNotReady;
}

Error event_synchronize(int, void *event) {
    if (auto record = static_cast<Event *>(event)->last()) record->wait();
    return infinirtSuccess;
}

Error event_elapsed(void *start, void *end, float *milliseconds) {
    auto *first = static_cast<Event *>(start), *second = static_cast<Event *>(end);
    auto one = first->last(), other = second->last();
    if (!first->timed || !second->timed || !one || !other) {
        host->explain(
            "both events must be recorded, and neither made with infinirtEventDisableTiming");
        return infinirtErrorInvalidResourceHandle;
    }
    if (!one->done() || !other->done()) return infinirtErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(other->time() - one->time()).count();
    return infinirtSuccess;
}

// ---- Operators: kernels of your own first, then the interpreter -----------------------------------

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

// ---- The tables -----------------------------------------------------------------------------------

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

    stream_create,       // stream_create
    stream_destroy,      // stream_destroy
    stream_query,        // stream_query
    stream_synchronize,  // stream_synchronize
    submit,              // submit

    event_create,       // event_create
    event_destroy,      // event_destroy
    event_query,        // event_query
    event_synchronize,  // event_synchronize
    event_elapsed,      // event_elapsed

    nullptr,       // memory_export
    nullptr,       // memory_import
    nullptr,       // memory_close
    nullptr,       // event_export
    nullptr,       // event_import
    device_query,  // device_query
};

const InfiniOperators operators = {sizeof(InfiniOperators), plan, hold, drop};

const InfiniBackend backend = {
    sizeof(InfiniBackend),   // size
    INFINI_BACKEND_ABI,      // abi
    "mychip",                // name
    "the makers of mychip",  // vendor
    "0.1",                   // version
    probe,                   // probe
    &driver,                 // driver
    nullptr,                 // function
    &operators,              // operators
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const InfiniBackend *infini_backend_open(
    const InfiniHost *offered) {
    host = offered;
    return offered->abi == INFINI_BACKEND_ABI ? &backend : nullptr;
}
