// The CPU back end's tables. Each entry looks up its objects and forwards; the implementation is in
// the file of that name.
#include <infini/backend.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "../kernels/lapack_library.h"
#include "../operators.h"
#include "error.h"
#include "event.h"
#include "machine.h"
#include "memory.h"
#include "process.h"
#include "setting.h"
#include "tuning.h"

namespace infini::cpu {

const InfiniHost *host = nullptr;

Error fail(Error code, const char *format, ...) {
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (host->explain) host->explain(sentence);
    return code;
}

namespace {

// ---- Devices ------------------------------------------------------------------------------------

Error device_info(int device, InfiniDeviceInfo *result) {
    const MachineFacts &facts = machine();
    InfiniDeviceInfo info{};
    info.size = result->size;
    memcpy(info.name, facts.name, sizeof info.name);
    memcpy(info.uuid, facts.id, sizeof info.uuid);
    info.uuid[15] = static_cast<unsigned char>(info.uuid[15] + device);
    info.memory_bytes = memory_total();
    info.major = facts.major;
    info.minor = facts.minor;
    info.multiprocessors = facts.cores;
    info.clock_khz = facts.clock_khz;
    info.l2_bytes = facts.l2_bytes;
    info.warp_width = 1;
    info.integrated = 1;
    info.host_pointers_usable = 1;
    info.copy_engines = process->workers.slots();
    info.least_priority = kLeastPriority;
    info.greatest_priority = kGreatestPriority;
    // A core with a shorter table gets the part that it knows.
    memcpy(result, &info, result->size < sizeof info ? result->size : sizeof info);
    return infinirtSuccess;
}

Error device_memory(int, size_t *free_bytes, size_t *total_bytes) {
    return memory_info(free_bytes, total_bytes);
}

Error device_synchronize(int device) { return device_at(device).synchronize(Device::Which::All); }

Error device_query(int device) { return device_at(device).query(); }

Error peer_access(int device, int peer, int *can) {
    *can = device != peer;  // all memory is the machine's
    return infinirtSuccess;
}

// ---- Memory -------------------------------------------------------------------------------------

Error allocate(int, size_t bytes, void **memory) { return memory_allocate(bytes, memory); }

Error release(int, void *memory, size_t bytes) { return memory_release(memory, bytes); }

Error allocate_host(size_t bytes, unsigned, void **memory) {
    return memory_allocate_host(bytes, memory);
}

Error release_host(void *memory, size_t bytes) { return memory_release(memory, bytes); }

// ---- Streams ------------------------------------------------------------------------------------

Stream &stream_at(int device, void *stream) {
    return stream ? *static_cast<Stream *>(stream) : device_at(device).legacy;
}

Error stream_create(int device, unsigned flags, int priority, void **stream) {
    return Stream::create(device_at(device), flags, priority, reinterpret_cast<Stream **>(stream));
}

Error stream_destroy(int device, void *stream) {
    Stream &it = stream_at(device, stream);
    if (Error error = it.usable()) return error;
    it.destroy();
    return infinirtSuccess;
}

Error stream_query(int device, void *stream) {
    Stream &it = stream_at(device, stream);
    if (Error error = it.usable()) return error;
    return it.complete() ? infinirtSuccess : infinirtErrorNotReady;
}

Error stream_synchronize(int device, void *stream) {
    if (!stream && device_at(device).quiet()) [[likely]]
        return infinirtSuccess;
    Stream &it = stream_at(device, stream);
    if (Error error = it.usable()) return error;
    return it.synchronize();
}

Error submit(int device, void *stream, const InfiniWork *work, size_t count) {
    if (!stream && count == 1 && device_at(device).perform_at_once(*work)) [[likely]]
        return infinirtSuccess;
    Stream &it = stream_at(device, stream);
    if (Error error = it.usable()) return error;
    return it.submit(work, count);
}

// ---- Events -------------------------------------------------------------------------------------

Error event_create(int, unsigned flags, void **event) {
    return Event::create(flags, reinterpret_cast<Event **>(event));
}

Error event_destroy(int, void *event) {
    if (Error error = static_cast<Event *>(event)->usable()) return error;
    delete static_cast<Event *>(event);
    return infinirtSuccess;
}

Error event_query(int, void *event) {
    if (Error error = static_cast<Event *>(event)->usable()) return error;
    return static_cast<Event *>(event)->complete() ? infinirtSuccess : infinirtErrorNotReady;
}

Error event_synchronize(int, void *event) {
    if (Error error = static_cast<Event *>(event)->usable()) return error;
    static_cast<Event *>(event)->wait();
    return infinirtSuccess;
}

Error event_elapsed(void *start, void *end, float *milliseconds) {
    auto &first = *static_cast<Event *>(start), &second = *static_cast<Event *>(end);
    if (Error error = first.usable()) return error;
    if (Error error = second.usable()) return error;
    return Event::elapsed(first, second, milliseconds);
}

// ---- Between processes --------------------------------------------------------------------------

Error export_memory(int, void *memory, size_t bytes, infinirtIpcMemHandle_t *handle) {
    for (int i = 0; i < process->device_count; ++i)
        if (Error error = device_synchronize(i)) return error;
    return memory_export(memory, bytes, handle);
}

Error import_memory(int, const infinirtIpcMemHandle_t *handle, void **memory, size_t *bytes) {
    return memory_import(*handle, memory, bytes);
}

Error close_memory(int, void *memory, size_t bytes) { return memory_close(memory, bytes); }

Error event_export(void *event, infinirtIpcEventHandle_t *handle) {
    if (Error error = static_cast<Event *>(event)->usable()) return error;
    return static_cast<Event *>(event)->export_to(handle);
}

Error event_import(int, const infinirtIpcEventHandle_t *handle, void **event) {
    return Event::import(*handle, reinterpret_cast<Event **>(event));
}

// ---- The tables ---------------------------------------------------------------------------------

const InfiniDriver driver = {
    sizeof(InfiniDriver),  // size

    device_info,         // device_info
    device_memory,       // device_memory
    device_synchronize,  // device_synchronize
    nullptr,             // device_attribute: all of them follow from device_info
    peer_access,         // peer_access

    allocate,       // allocate
    release,        // release
    allocate_host,  // allocate_host
    release_host,   // release_host
    nullptr,        // register_host: the CPU reaches every page as it is
    nullptr,        // unregister_host
    allocate,       // allocate_managed: any memory is reached from everywhere

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

    export_memory,  // memory_export
    import_memory,  // memory_import
    close_memory,   // memory_close
    event_export,   // event_export
    event_import,   // event_import

    device_query,  // device_query
};

// INFINI_CPU_DEVICES=N makes N devices of the one machine, to write and test programs for several.
int probe(char *reason, size_t reason_bytes) {
    auto ignore = [&](const char *name, const std::string &sentence) {
        warn_of_setting(name, sentence);
        snprintf(reason, reason_bytes, "%s", sentence.c_str());
    };
    for (const NumberSetting &setting : {kDeviceSetting, kThreadSetting})
        if (const std::string problem = problem_of(setting); !problem.empty())
            ignore(setting.name, problem);
    if (const std::string problem = tuning_problem(); !problem.empty())
        ignore("INFINI_TUNING", problem);
    if (!has_kernels())
        snprintf(reason, reason_bytes,
                 "operators cannot run: the kernels were compiled for %sonly, which this processor "
                 "lacks; install infinicore on this machine, or with INFINI_CPU_ISAS=all",
                 compiled_instruction_sets());
    else if (is_instruction_set_ignored())
        ignore("INFINI_CPU_ISA",
               ignored_setting("INFINI_CPU_ISA",
                               std::string("one of ") + compiled_instruction_sets() +
                                   "that this processor has; kernels for " + instruction_set() +
                                   " are used, the best of them"));
    if (const char *problem = lapack_problem())
        ignore("INFINI_LAPACK_LIBRARY",
               ignored_setting("INFINI_LAPACK_LIBRARY",
                               std::string("a library that can be used: ") + problem));
    static const int count = [] {
        int devices = int(read_setting(kDeviceSetting, 1));
        start_process(devices);
        return devices;
    }();
    return count;
}

const InfiniBackend backend = {
    sizeof(InfiniBackend),  // size
    INFINI_BACKEND_ABI,     // abi
    "cpu",                  // name
    "host processor",       // vendor
    INFINI_VERSION,         // version
    probe,                  // probe
    &driver,                // driver
    nullptr,                // function: the core's software serves everything
    &operators,             // operators
};

}  // namespace
}  // namespace infini::cpu

extern "C" [[gnu::visibility("default")]] const InfiniBackend *infini_backend_open(
    const InfiniHost *host) {
    if (host->abi != INFINI_BACKEND_ABI) return nullptr;
    infini::cpu::host = host;
    return &infini::cpu::backend;
}
