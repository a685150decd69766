// Devices: their number, why there are none, and their properties.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/driver.h"
#include "runtime/vendor_call.h"
#include "vendor.h"

namespace infini::cuda {
namespace {

std::string number(int version) {
    if (!vendor.forwards) return std::to_string(version);  // other vendors count differently
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Why the count failed, with advice.
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

// The name of the first missing essential function; empty: none. Other missing functions are
// reported by the call that needs them.
std::string missing_function() {
    for (const char *word : {"SetDevice", "Malloc", "MemcpyAsync", "StreamCreateWithPriority",
                             "EventRecord", "LaunchHostFunc", "MemGetInfo"})
        if (!find(Part::kRuntime, word))
            return std::string(vendor.libraries[int(Part::kRuntime)].prefix) + word;
    return "";
}

// Structs of properties differ between releases, but all begin with the name.
std::string device_name(int device) {
    using Get = int (*)(void *, int);
    static const auto get = function<Get>(Part::kRuntime, "GetDeviceProperties");
    std::vector<char> properties(16384);
    if (!get || get(properties.data(), device) != 0) return vendor.vendor;
    properties.resize(256);
    properties.push_back('\0');
    return properties.data();
}

int attribute_or(int otherwise, infinirtDeviceAttr attribute, int device) {
    int value = otherwise;
    return ask_attribute(&value, attribute, device) == 0 ? value : otherwise;
}

// For a vendor whose struct of properties differs from CUDA's.
Error describe(int device, InfiniDeviceInfo &info) {
    auto ask = [&](infinirtDeviceAttr attribute) { return attribute_or(0, attribute, device); };
    snprintf(info.name, sizeof info.name, "%s", device_name(device).c_str());
    size_t free_bytes = 0, total_bytes = 0;
    if (Error error = device_memory(device, &free_bytes, &total_bytes)) return error;
    info.memory_bytes = total_bytes;
    info.major = ask(infinirtDevAttrComputeCapabilityMajor);
    info.minor = ask(infinirtDevAttrComputeCapabilityMinor);
    info.multiprocessors = attribute_or(1, infinirtDevAttrMultiProcessorCount, device);
    info.clock_khz = ask(infinirtDevAttrClockRate);
    info.memory_clock_khz = ask(infinirtDevAttrMemoryClockRate);
    info.memory_bus_bits = ask(infinirtDevAttrGlobalMemoryBusWidth);
    info.l2_bytes = ask(infinirtDevAttrL2CacheSize);
    info.warp_width = vendor.warp ? vendor.warp : attribute_or(32, infinirtDevAttrWarpSize, device);
    info.integrated = ask(infinirtDevAttrIntegrated);
    info.host_pointers_usable = ask(infinirtDevAttrPageableMemoryAccess);
    info.copy_engines = ask(infinirtDevAttrAsyncEngineCount);
    return infinirtSuccess;
}

// For a vendor with CUDA's struct.
void describe(const infinirtDeviceProp &of, InfiniDeviceInfo &info) {
    snprintf(info.name, sizeof info.name, "%s", of.name);
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
    if (const std::string name = missing_function(); !name.empty())
        return none(std::string(path(Part::kRuntime)) + " has no function " + name +
                    ": it is not the library that this back end is for, or too old");
    if (runtime_version() && runtime_version() < vendor.oldest_runtime)
        return none(std::string(path(Part::kRuntime)) + " is too old: its version is " +
                    std::to_string(runtime_version()) + ", expected " +
                    std::to_string(vendor.oldest_runtime) + " or later");
    if (const std::string name = vendor.foreign ? device_name(0) : ""; foreign_word(name.c_str()))
        return none("the devices are another vendor's: " + std::string(path(Part::kRuntime)) +
                    " calls the first one " + name);
    // Devices work without it, operators do not.
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

int ask_attribute(int *value, int attribute, int device) {
    using Ask = int (*)(int *, int, int);
    static const auto ask = function<Ask>(Part::kRuntime, "DeviceGetAttribute");
    if (!ask) return infinirtErrorNotSupported;
    const AttributeNumber *row = vendor.attributes;
    while (row && row->ours && row->ours != attribute) ++row;
    if (row && !row->ours) return infinirtErrorNotSupported;
    return ask(value, row ? row->theirs : attribute, device);
}

Error device_info(int device, InfiniDeviceInfo *result) {
    InfiniDeviceInfo info{};
    info.size = result->size;
    infinirtDeviceProp of{};
    if (vendor.forwards) {
        if (Error error = INFINI_CALL(GetDeviceProperties, &of, device)) return error;
        describe(of, info);
    } else if (Error error = describe(device, info)) {
        return error;
    }
    if (!target("DeviceGetPCIBusId") ||
        INFINI_CALL(DeviceGetPCIBusId, info.bus_id, int(sizeof info.bus_id), device))
        info.bus_id[0] = '\0';
    // Querying the range of priorities would initialize the device, which costs memory and time; it
    // is done only on request.
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
    const int code = ask_attribute(value, attribute, device);
    if (code == infinirtErrorNotSupported) return infinirtErrorNotSupported;  // the core answers
    return check(Part::kRuntime, code, "DeviceGetAttribute");
}

Error peer_access(int device, int peer, int *can) {
    return INFINI_CALL(DeviceCanAccessPeer, can, device, peer);
}

}  // namespace infini::cuda
