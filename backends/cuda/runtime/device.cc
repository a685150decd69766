// Devices: how many there are, why there are none, and what they say of themselves.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/driver.h"
#include "runtime/vendor_call.h"
#include "vendor.h"

namespace infini::cuda {
namespace {

std::string number(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Why the count was refused, in words that say what to do.
std::string why(int code) {
    if (code == infinirtErrorInsufficientDriver)
        return "the driver is too old: it knows toolkits up to " + number(driver_version()) +
               ", and " + path(Part::kRuntime) + " is of " + number(runtime_version()) +
               "; update the driver, or install an older runtime library";
    using Text = const char *(*)(int);
    auto name_of = function<Text>(Part::kRuntime, "GetErrorName");
    auto text_of = function<Text>(Part::kRuntime, "GetErrorString");
    std::string text = "the driver gives no device";
    if (name_of && text_of)
        text += std::string(": ") + name_of(code) + ", " + text_of(code);
    else
        text += " (code " + std::to_string(code) + ")";
    return text;
}

template <size_t kBytes>
void set(char (&to)[kBytes], const char *from) {
    snprintf(to, kBytes, "%s", from);
}

}  // namespace

int probe(char *reason, size_t reason_bytes) {
    auto none = [&](const std::string &text) {
        snprintf(reason, reason_bytes, "%s", text.c_str());
        return 0;
    };
    if (const char *text = problem(Part::kDriver)) return none(text);
    if (const char *text = problem(Part::kRuntime)) return none(text);
    using Count = int (*)(int *);
    auto count_of = function<Count>(Part::kRuntime, "GetDeviceCount");
    if (!count_of) return none(std::string(path(Part::kRuntime)) + " is no runtime library");
    int count = 0;
    if (int code = count_of(&count)) {
        if (auto forget = function<int (*)()>(Part::kRuntime, "GetLastError")) forget();
        return none(why(code));
    }
    if (count == 0) return none("the driver sees no device");
    // Devices can be used without it, operators cannot.
    if (const char *text = problem(Part::kCompiler))
        snprintf(reason, reason_bytes, "no operators: %s", text);
    return count;
}

const char *versions() {
    static const std::string text = [] {
        std::string said = INFINI_VERSION;
        if (runtime_version())
            said += ", runtime " + number(runtime_version()) + " (" + path(Part::kRuntime) + ")";
        if (driver_version()) said += ", driver for " + number(driver_version());
        using Ask = int (*)(int *, int *);
        int major = 0, minor = 0;
        if (auto ask = function<Ask>(Part::kCompiler, "Version"); ask && ask(&major, &minor) == 0)
            said += ", compiler " + std::to_string(major) + "." + std::to_string(minor) + " (" +
                    path(Part::kCompiler) + ")";
        return said;
    }();
    return text.c_str();
}

Error device_info(int device, InfiniDeviceInfo *result) {
    infinirtDeviceProp of{};
    if (Error error = INFINI_CALL(GetDeviceProperties, &of, device)) return error;
    InfiniDeviceInfo info{};
    info.size = result->size;
    set(info.name, of.name);
    if (INFINI_CALL(DeviceGetPCIBusId, info.bus_id, int(sizeof info.bus_id), device))
        info.bus_id[0] = '\0';
    memcpy(info.uuid, of.uuid.bytes, sizeof info.uuid);
    info.memory_bytes = of.totalGlobalMem;
    info.major = of.major;
    info.minor = of.minor;
    info.multiprocessors = of.multiProcessorCount;
    info.clock_khz = of.clockRate;
    info.memory_clock_khz = of.memoryClockRate;
    info.memory_bus_bits = of.memoryBusWidth;
    info.l2_bytes = of.l2CacheSize;
    info.warp_width = of.warpSize;
    info.integrated = of.integrated;
    info.host_pointers_usable = of.pageableMemoryAccess;
    info.copy_engines = of.asyncEngineCount;
    // Asking for the range of priorities would set the device up, which costs memory and time; it
    // is asked when a client asks.
    memcpy(result, &info, info.size < sizeof info ? info.size : sizeof info);
    return infinirtSuccess;
}

Error device_memory(int device, size_t *free_bytes, size_t *total_bytes) {
    OnDevice here(device);
    return INFINI_CALL(MemGetInfo, free_bytes, total_bytes);
}

Error device_synchronize(int device) {
    OnDevice here(device);
    return INFINI_CALL(DeviceSynchronize);
}

Error device_attribute(int device, infinirtDeviceAttr attribute, int *value) {
    return INFINI_CALL(DeviceGetAttribute, value, attribute, device);
}

Error peer_access(int device, int peer, int *can) {
    return INFINI_CALL(DeviceCanAccessPeer, can, device, peer);
}

}  // namespace infini::cuda
