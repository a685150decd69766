// The back end's tables for the core.
#include <cstdio>
#include <cstring>

#include "stream.h"

namespace infini::vendor_runtime {
namespace {

StreamPointer own(void *handle) { return *static_cast<StreamPointer *>(handle); }

// ---- Devices ------------------------------------------------------------------------------------

Error device_memory(int device, size_t *free_bytes, size_t *total_bytes) {
    OnDevice here(device);
    Values values;
    values.out = free_bytes;
    values.out2 = total_bytes;
    if (has(Word::kMemGetInfo)) return check(Word::kMemGetInfo, values);
    InfiniDeviceInfo info{};
    vendor.describe(device, &info);
    *free_bytes = *total_bytes = info.memory_bytes;  // the used amount cannot be queried
    return infinirtSuccess;
}

Error device_info(int device, InfiniDeviceInfo *result) {
    InfiniDeviceInfo info{};
    info.size = result->size;
    OnDevice here(device);
    snprintf(info.name, sizeof info.name, "%s %d", vendor.name, device);
    snprintf(reinterpret_cast<char *>(info.uuid), sizeof info.uuid, "%.8s-%d", vendor.kind, device);
    info.major = 1;
    info.multiprocessors = 1;
    info.warp_width = 1;
    info.copy_engines = 1;
    vendor.describe(device, &info);
    size_t free_bytes = 0;
    if (!info.memory_bytes) device_memory(device, &free_bytes, &info.memory_bytes);
    memcpy(result, &info, info.size < sizeof info ? info.size : sizeof info);
    return infinirtSuccess;
}

std::vector<StreamPointer> all_streams(Device &device) {
    std::lock_guard guard(device.lock);
    std::vector<StreamPointer> all = device.streams;
    if (device.legacy) all.push_back(device.legacy);
    return all;
}

Error device_synchronize(int device) {
    Error first = infinirtSuccess;
    for (const StreamPointer &stream : all_streams(device_of(device)))
        if (Error error = stream->synchronize(); first == infinirtSuccess) first = error;
    return first;
}

Error device_query(int device) {
    for (const StreamPointer &stream : all_streams(device_of(device)))
        if (Error error = stream->query()) return error;
    return infinirtSuccess;
}

Error peer_access(int device, int peer, int *can) {
    *can = 0;
    Values values;
    values.out = can;
    values.device = device;
    values.device2 = peer;
    return has(Word::kPeerAccess) ? check(Word::kPeerAccess, values) : infinirtSuccess;
}

// ---- Memory -------------------------------------------------------------------------------------

Error allocate(int device, size_t bytes, void **memory) {
    return device_allocate(device, bytes, memory);
}
Error release(int device, void *memory, size_t) { return device_release(device, memory); }
Error allocate_host(size_t bytes, unsigned, void **memory) { return pin_allocate(bytes, memory); }
Error release_host(void *memory, size_t) { return pin_release(memory); }

// ---- Streams ------------------------------------------------------------------------------------

Error stream_create(int device, unsigned flags, int, void **result) {
    Device &place = device_of(device);
    auto stream = std::make_shared<Stream>(place, !(flags & infinirtStreamNonBlocking));
    if (Error error = stream->create()) return error;
    std::lock_guard guard(place.lock);
    stream->seen_legacy = 0;
    place.streams.push_back(stream);
    *result = new StreamPointer(stream);
    return infinirtSuccess;
}

Error stream_destroy(int, void *stream) {
    auto *handle = static_cast<StreamPointer *>(stream);
    (*handle)->end();
    delete handle;
    return infinirtSuccess;
}

// The null stream has reached the same point as the blocking streams that it waits for.
Error find_and_order(int device, void *handle, StreamPointer *stream) {
    Device &place = device_of(device);
    *stream = place.find(handle);
    if (!*stream) return infinirtErrorInvalidResourceHandle;
    if (handle) return infinirtSuccess;
    OnDevice here(device);
    std::lock_guard guard(place.lock);
    place.order(*stream);
    return infinirtSuccess;
}

Error stream_query(int device, void *handle) {
    StreamPointer stream;
    if (Error error = find_and_order(device, handle, &stream)) return error;
    return stream->query();
}

Error stream_synchronize(int device, void *handle) {
    StreamPointer stream;
    if (Error error = find_and_order(device, handle, &stream)) return error;
    return stream->synchronize();
}

Error submit(int device, void *handle, const InfiniWork *work, size_t count) {
    Device &place = device_of(device);
    const StreamPointer stream = handle ? own(handle) : place.find(nullptr);
    return stream ? place.submit(stream, work, count) : infinirtErrorInvalidResourceHandle;
}

// ---- Events -------------------------------------------------------------------------------------

Error event_create(int device, unsigned flags, void **event) {
    *event = new Event{device_of(device), !(flags & infinirtEventDisableTiming), {}, nullptr};
    return infinirtSuccess;
}

Error event_destroy(int, void *event) {
    delete static_cast<Event *>(event);
    return infinirtSuccess;
}

Error event_query(int, void *event) {
    const RecordPointer record = static_cast<Event *>(event)->get();
    return record ? record->query() : infinirtSuccess;
}

Error event_synchronize(int, void *event) {
    const RecordPointer record = static_cast<Event *>(event)->get();
    return record ? record->wait_done() : infinirtSuccess;
}

Error event_elapsed(void *start, void *end, float *milliseconds) {
    const RecordPointer first = static_cast<Event *>(start)->get();
    const RecordPointer second = static_cast<Event *>(end)->get();
    if (!first || !second || !first->timed || !second->timed)
        return explain(
            infinirtErrorInvalidResourceHandle,
            "both events must be recorded, and neither made with infinirtEventDisableTiming");
    for (const RecordPointer &record : {first, second})
        if (Error error = record->query()) return error;
    if (!has(Word::kEventElapsedTime) || !first->handle || !second->handle) {
        *milliseconds = float((second->seconds - first->seconds) * 1e3);
        return infinirtSuccess;
    }
    OnDevice here(first->device.number);
    Values values;
    values.out = milliseconds;
    values.event = first->handle;
    values.event2 = second->handle;
    return check(Word::kEventElapsedTime, values);
}

// ---- The tables ---------------------------------------------------------------------------------

const InfiniDriver driver = {
    sizeof(InfiniDriver),  // size

    device_info,         // device_info
    device_memory,       // device_memory
    device_synchronize,  // device_synchronize
    nullptr,             // device_attribute
    peer_access,         // peer_access

    allocate,       // allocate
    release,        // release
    allocate_host,  // allocate_host
    release_host,   // release_host
    nullptr,        // register_host
    nullptr,        // unregister_host
    nullptr,        // allocate_managed

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

int probe(char *reason, size_t reason_bytes) {
    std::string why = problem(Part::kRuntime);
    int count = 0;
    if (why.empty()) {
        Values values;
        values.out = &count;
        int code = has(Word::kInit) ? call(Word::kInit, values) : 0;
        for (int harmless : vendor.harmless_init)
            if (code == harmless) code = 0;
        const char *called = code ? "initialisation" : "counting devices";
        if (!code) code = call(Word::kGetDeviceCount, values);
        if (code) {
            const std::string text = vendor.error_text ? vendor.error_text(code) : "";
            why = std::string(vendor.name) + ": " + called + " returned " + std::to_string(code) +
                  (text.empty() ? "" : ": " + text);
            count = 0;
        } else if (count == 0) {
            why = path(Part::kRuntime) + " finds no device";
        }
    }
    // With devices it is a note: unsupported operators, and uncertain entries of the table.
    if (count > 0) {
        if (!problem(Part::kOperators).empty())
            why = "matrix products are refused: " + problem(Part::kOperators) + "; ";
        if (!doubts().empty()) why += "names that no header confirms: " + doubts();
    }
    snprintf(reason, reason_bytes, "%s", why.c_str());
    return count;
}

}  // namespace
}  // namespace infini::vendor_runtime

extern "C" __attribute__((visibility("default"))) const InfiniBackend *infini_backend_open(
    const InfiniHost *offered) {
    using namespace infini::vendor_runtime;
    static const InfiniBackend backend = {
        sizeof(InfiniBackend),  // size
        INFINI_BACKEND_ABI,     // abi
        vendor.kind,            // name
        vendor.name,            // vendor
        INFINI_VERSION,         // version
        probe,                  // probe
        &driver,                // driver
        nullptr,                // function
        &operators,             // operators
    };
    set_host(offered);
    return offered->abi == INFINI_BACKEND_ABI ? &backend : nullptr;
}
