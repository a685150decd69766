// Functions outside both APIs: device types, back ends, the message of an error.
#include "infini/ext.h"

#include "memory.h"

using namespace infini::rt;

namespace {

infiniStatus_t fail(const char *function, Error code, infiniStatus_t status,
                    const std::string &sentence) {
    record_error(Thread::current(), code, std::string(function) + ": " + sentence);
    return status;
}

bool there(const void *pointer, size_t bytes, bool write) {
    return probe_host(Thread::current().memory, pointer, bytes, write);
}

}  // namespace

extern "C" {

const char *infiniGetLastErrorMessage(void) try {
    Thread &thread = Thread::current();
    if (thread.message.empty() && thread.failed_code != infinirtSuccess)
        thread.message =
            std::string(thread.failed_function) + ": " + error_string(thread.failed_code);
    return thread.message.c_str();
} catch (...) {
    return "";
}

infiniStatus_t infinirtSetDeviceKind(const char *kind) try {
    constexpr const char *kName = "infinirtSetDeviceKind";
    if (!kind || !there(kind, 1, false))
        return fail(kName, infinirtErrorInvalidValue, INFINI_STATUS_NULL_POINTER,
                    "kind is no text: expected a word such as \"cpu\"");
    Backend *backend = find_backend(std::string(kind));
    if (backend && !backend->devices.empty()) {
        Thread &thread = Thread::current();
        if (Error error = thread.use(*backend))
            return fail(kName, error, INFINI_STATUS_INTERNAL_ERROR, thread.explanation);
        return INFINI_STATUS_SUCCESS;
    }
    std::string sentence = std::string("no ") + kind + " device: ";
    if (backend) {
        sentence += backend->reason;
    } else {
        sentence += "no back end of that kind was found; there are:";
        for (const Backend *other : backends()) sentence += " " + other->name;
    }
    return fail(kName, infinirtErrorInvalidDevice, INFINI_STATUS_DEVICE_NOT_FOUND, sentence);
} catch (...) {
    return INFINI_STATUS_INTERNAL_ERROR;
}

const char *infinirtGetDeviceKind(void) try {
    Thread &thread = Thread::current();
    if (thread.backend) return thread.backend->name.c_str();
    Backend *backend = default_backend();
    return backend ? backend->name.c_str() : "";
} catch (...) {
    return "";
}

int infinirtGetBackendCount(void) try { return static_cast<int>(backends().size()); } catch (...) {
    return 0;
}

infiniStatus_t infinirtGetBackendInfo(int index, infinirtBackendInfo *info) try {
    constexpr const char *kName = "infinirtGetBackendInfo";
    if (!info || !there(info, sizeof *info, true))
        return fail(kName, infinirtErrorInvalidValue, INFINI_STATUS_NULL_POINTER,
                    "info points to no memory: expected an infinirtBackendInfo");
    if (info->size != sizeof(infinirtBackendInfo))
        return fail(kName, infinirtErrorInvalidValue, INFINI_STATUS_BAD_PARAM,
                    "info->size is " + std::to_string(info->size) +
                        ": expected sizeof(infinirtBackendInfo)");
    std::vector<Backend *> list = backends();
    if (index < 0 || static_cast<size_t>(index) >= list.size())
        return fail(
            kName, infinirtErrorInvalidValue, INFINI_STATUS_BAD_PARAM,
            "index is " + std::to_string(index) + ": expected less than infinirtGetBackendCount()");
    const Backend &backend = *list[index];
    info->name = backend.name.c_str();
    info->vendor = backend.vendor.c_str();
    info->version = backend.version.c_str();
    info->path = backend.path.c_str();
    info->reason = backend.reason.c_str();
    info->device_count = static_cast<int>(backend.devices.size());
    info->device_type = backend.kind;
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return INFINI_STATUS_INTERNAL_ERROR;
}

infiniStatus_t infinirtLoadBackend(const char *path) try {
    constexpr const char *kName = "infinirtLoadBackend";
    if (!path || !there(path, 1, false))
        return fail(kName, infinirtErrorInvalidValue, INFINI_STATUS_NULL_POINTER,
                    "path is no text: expected the path of a back-end library");
    Backend *backend = load_backend(path);
    if (!backend->devices.empty()) return INFINI_STATUS_SUCCESS;
    return fail(kName, infinirtErrorInvalidDevice, INFINI_STATUS_DEVICE_NOT_FOUND,
                backend->name + " (" + path + "): " + backend->reason);
} catch (...) {
    return INFINI_STATUS_INTERNAL_ERROR;
}

}  // extern "C"
