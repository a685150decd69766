// What the other libraries of the core use: devices, launches, messages. See base/launch.h.
#include "launch.h"

#include "first_generation.h"
#include "infini/ext.h"
#include "memory.h"
#include "stream.h"

namespace infini::rt {
namespace {

infiniStatus_t fail(const char *function, infiniStatus_t status, const std::string &sentence) {
    record_error(Thread::current(), infinirtErrorInvalidValue,
                 std::string(function) + ": " + sentence);
    return status;
}

// The runtime's own message, said of the client's call.
infiniStatus_t failed(const char *function, Error error) {
    std::string sentence = infiniGetLastErrorMessage();
    size_t colon = sentence.find(": ");
    if (colon != std::string::npos) sentence.erase(0, colon + 2);
    record_error(Thread::current(), error, std::string(function) + ": " + sentence);
    return first::status_of(error);
}

Stream *stream_of(Call &call, Device &device, void *handle) {
    if (!handle) return device.legacy.get();
    return call.stream(static_cast<infinirtStream_t>(handle), 1, "stream");
}

}  // namespace
}  // namespace infini::rt

using namespace infini::rt;

extern "C" {

infiniStatus_t infiniTargetOfThread(const char *function, InfiniTarget *target) try {
    first::enter();
    Thread &thread = Thread::current();
    if (!thread.device) {
        Call call(Function::LaunchKernel);
        if (!call.ready()) return failed(function, call.error());
    }
    Device &device = *thread.device;
    *target = {device.backend.operators, device.backend.name.c_str(), device.backend.kind,
               device.index, &device};
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return INFINI_STATUS_INTERNAL_ERROR;
}

infiniStatus_t infiniLaunchKernel(const char *function, const InfiniTarget *target, void *handle,
                                  const InfiniKernel *kernel) try {
    Device &device = *static_cast<Device *>(target->device);
    Call call(Function::LaunchKernel);
    if (call.thread.host_function_depth != 0) [[unlikely]]
        if (!call.ready()) return failed(function, call.error());
    Stream *stream = stream_of(call, device, handle);
    if (!stream) return failed(function, call.error());
    if (&stream->device != &device) [[unlikely]]
        return fail(function, INFINI_STATUS_BAD_PARAM,
                    "stream belongs to " + stream->device.backend.name + " device " +
                        std::to_string(stream->device.index) + ": expected one of " + target->kind +
                        " device " + std::to_string(target->index) +
                        ", for which the descriptor was made");
    InfiniWork work;
    work.kind = INFINI_WORK_KERNEL;
    work.as.kernel = *kernel;
    Error error = submit(call, *stream, work);
    if (error == infinirtSuccess) [[likely]]
        return INFINI_STATUS_SUCCESS;
    return failed(function, error);
} catch (...) {
    return fail(function, INFINI_STATUS_INTERNAL_ERROR, "host memory ran out");
}

infiniStatus_t infiniWaitForStream(const char *function, const InfiniTarget *target,
                                   void *handle) try {
    Call call(Function::StreamSynchronize);
    Stream *stream = stream_of(call, *static_cast<Device *>(target->device), handle);
    Error error = stream ? synchronize(call, *stream) : call.error();
    return error == infinirtSuccess ? INFINI_STATUS_SUCCESS : failed(function, error);
} catch (...) {
    return fail(function, INFINI_STATUS_INTERNAL_ERROR, "host memory ran out");
}

infiniStatus_t infiniRecordFailure(const char *function, infiniStatus_t status,
                                   const char *sentence) try {
    Thread &thread = Thread::current();
    std::string said = sentence ? sentence : thread.explanation;
    thread.explanation.clear();
    return fail(function, status, said.empty() ? "it failed for no known reason" : said);
} catch (...) {
    return status;
}

int infiniIsHostMemory(const void *pointer, size_t bytes, int write) try {
    MemoryCache &memory = Thread::current().memory;
    return memory.knows_pages(pointer, bytes, write) || probe_host(memory, pointer, bytes, write);
} catch (...) {
    return 0;
}

}  // extern "C"
