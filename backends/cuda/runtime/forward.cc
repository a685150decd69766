#include "runtime/forward.h"

#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/device_reset.h"
#include "runtime/vendor_call.h"
#include "vendor.h"

namespace infini::cuda {
namespace {

constexpr int kToolkit13 = 13000;

thread_local int chosen = 0;

// The core sets each thread's device with this function before any other call.
Error choose_device(int device) {
    using Get = int (*)(int *);
    using Set = int (*)(int);
    static const auto get = function<Get>(Part::kRuntime, "GetDevice");
    static const auto set = function<Set>(Part::kRuntime, "SetDevice");
    if (!get || !set) return absent("SetDevice");
    int now = -1;
    static thread_local bool told = false;
    if (told && chosen == device && get(&now) == 0 && now == device) return infinirtSuccess;
    watch_forks();
    if (Error error = check(Part::kRuntime, set(device), "SetDevice")) return error;
    chosen = device;
    told = true;
    return infinirtSuccess;
}

// Everything that was loaded and opened on the device is lost with it.
Error reset_device() {
    static std::mutex one_at_a_time;
    std::lock_guard guard(one_at_a_time);
    const int device = chosen_device();
    OnDevice here(device);
    const bool had_lost = lost_operators(device);
    note_reset(device);
    const Error error = INFINI_CALL(DeviceReset);
    if (error)
        note_refused_reset(device, had_lost);  // e.g. while a stream is captured
    else
        note_reset(device);  // created by another thread meanwhile
    return error;
}

// The vendor's function writes what fits before it fails, and treats a negative length as a large
// one.
Error bus_address(char *text, int length, int device) {
    char whole[64] = "";
    if (Error error = INFINI_CALL(DeviceGetPCIBusId, whole, int(sizeof whole), device))
        return error;
    const size_t bytes = strlen(whole) + 1;
    if (length < 0 || size_t(length) < bytes)
        return fail(infinirtErrorInvalidValue,
                    "argument 2 (len) is %d: the bus address takes %zu bytes", length, bytes);
    memcpy(text, whole, bytes);
    return infinirtSuccess;
}

const std::unordered_map<std::string, size_t> &by_word() {
    static auto *table = [] {
        auto *made = new std::unordered_map<std::string, size_t>;
        for (size_t i = 0; i < forward_count; ++i) made->emplace(forwards[i].word, i);
        return made;
    }();
    return *table;
}

}  // namespace

int chosen_device() { return chosen; }

void find_vendor_functions() {
    const bool newer = vendor.forwards && runtime_version() >= kToolkit13;
    for (size_t i = 0; i < forward_count; ++i) {
        const Forward &forward = forwards[i];
        const char *symbol = newer ? forward.symbol13 : forward.symbol12;
        vendor_functions[i] = symbol ? find(Part::kRuntime, symbol) : nullptr;
        bool adapted = newer && forward.adapter13 && vendor_functions[i];
        forward_targets[i] = adapted ? forward.adapter13 : vendor_functions[i];
    }
}

void *forwarded(const char *word) {
    if (strcmp(word, "SetDevice") == 0) return reinterpret_cast<void *>(&choose_device);
    if (strcmp(word, "DeviceGetPCIBusId") == 0) return reinterpret_cast<void *>(&bus_address);
    for (const char *name : {"DeviceReset", "ThreadExit"})  // the second is the old name
        if (strcmp(word, name) == 0) return reinterpret_cast<void *>(&reset_device);
    auto found = by_word().find(word);
    return found == by_word().end() ? nullptr : forwards[found->second].call;
}

void *target(const char *word) {
    auto found = by_word().find(word);
    if (found != by_word().end()) return forward_targets[found->second];
    return find(Part::kRuntime, word);
}

Error absent(const char *word) {
    int version = runtime_version();
    return fail(infinirtErrorNotSupported,
                "the runtime library %s (toolkit %d.%d) has no such "
                "function (%s)",
                path(Part::kRuntime) ? path(Part::kRuntime) : "", version / 1000,
                version % 1000 / 10, word);
}

int attribute(infinirtDeviceAttr attribute, int device) {
    using Ask = int (*)(int *, infinirtDeviceAttr, int);
    static const auto ask = function<Ask>(Part::kRuntime, "DeviceGetAttribute");
    static const auto forget = function<int (*)()>(Part::kRuntime, "GetLastError");
    int value = 0;
    if (ask && ask(&value, attribute, device) == 0) return value;
    if (forget) forget();
    return 0;
}

}  // namespace infini::cuda
