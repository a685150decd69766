// Devices: choosing them, describing them, waiting for them.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_set>

#include "graph.h"
#include "impl.h"
#include "keep.h"
#include "managed.h"
#include "memory.h"
#include "pool.h"

namespace infini::rt {
namespace {

// Addresses that were passed to infiniKeep. Leaked on purpose: clients may still call during
// process exit.
struct Kept {
    ForkSafeMutex mutex{LockRank::Handles};
    std::unordered_set<const void *> all;

    static Kept &get() {
        static auto *kept = new Kept;
        return *kept;
    }
    bool has(const void *address) {
        std::lock_guard lock(mutex);
        return all.count(address) != 0;
    }
};

Device *look_up(Call &call, int number, int index) {
    auto &devices = call.thread.backend->devices;
    if (number >= 0 && static_cast<size_t>(number) < devices.size()) return devices[number].get();
    call.fail(infinirtErrorInvalidDevice,
              "argument %d (device) is %d: expected 0 to %zu, the %s devices here", index, number,
              devices.size() - 1, call.thread.backend->name.c_str());
    return nullptr;
}

// Devices without a PCI address get one made of device type and index, so that the two functions
// below are inverse.
std::string bus_id(const Device &device) {
    if (device.info.bus_id[0]) return device.info.bus_id;
    return device.backend.name + ":" + std::to_string(device.index);
}

// Derives attributes that the back end does not answer itself from its description. False: unknown
// here.
bool described(const InfiniDeviceInfo &info, infinirtDeviceAttr attribute, int *value) {
    const auto answer = [value](int64_t number) {
        *value = int(number);
        return true;
    };
    switch (attribute) {
        case infinirtDevAttrMultiProcessorCount:
            return answer(info.multiprocessors);
        case infinirtDevAttrWarpSize:
            return answer(info.warp_width);
        case infinirtDevAttrClockRate:
            return answer(info.clock_khz);
        case infinirtDevAttrMemoryClockRate:
            return answer(info.memory_clock_khz);
        case infinirtDevAttrGlobalMemoryBusWidth:
            return answer(info.memory_bus_bits);
        case infinirtDevAttrL2CacheSize:
            return answer(info.l2_bytes);
        case infinirtDevAttrComputeCapabilityMajor:
            return answer(info.major);
        case infinirtDevAttrComputeCapabilityMinor:
            return answer(info.minor);
        case infinirtDevAttrIntegrated:
            return answer(info.integrated);
        case infinirtDevAttrAsyncEngineCount:
            return answer(info.copy_engines);
        case infinirtDevAttrGpuOverlap:
            return answer(info.copy_engines > 0);
        case infinirtDevAttrStreamPrioritiesSupported:
            return answer(info.least_priority != info.greatest_priority);
        case infinirtDevAttrPageableMemoryAccess:
        case infinirtDevAttrPageableMemoryAccessUsesHostPageTables:
        case infinirtDevAttrCanUseHostPointerForRegisteredMem:
        case infinirtDevAttrConcurrentManagedAccess:
        case infinirtDevAttrDirectManagedMemAccessFromHost:
        case infinirtDevAttrManagedMemory:
            return answer(info.host_pointers_usable);
        // The core implements these in software for every device.
        case infinirtDevAttrCanMapHostMemory:
        case infinirtDevAttrConcurrentKernels:
        case infinirtDevAttrUnifiedAddressing:
        case infinirtDevAttrHostRegisterSupported:
        case infinirtDevAttrMemoryPoolsSupported:
            return answer(1);
        case infinirtDevAttrMaxPitch:
            return answer(0x7fffffff);
        case infinirtDevAttrTextureAlignment:
        case infinirtDevAttrTexturePitchAlignment:
            return answer(256);
        default:
            *value = 0;
            return attribute > 0 && attribute < infinirtDevAttrMax;
    }
}

void describe(const Device &device, infinirtDeviceProp *prop) {
    const InfiniDeviceInfo &info = device.info;
    *prop = {};
    snprintf(prop->name, sizeof prop->name, "%s", info.name);
    static_assert(sizeof prop->uuid == sizeof info.uuid);
    memcpy(&prop->uuid, info.uuid, sizeof info.uuid);
    prop->totalGlobalMem = info.memory_bytes;
    prop->warpSize = info.warp_width;
    prop->memPitch = 0x7fffffff;
    prop->clockRate = info.clock_khz;
    prop->major = info.major;
    prop->minor = info.minor;
    prop->textureAlignment = prop->texturePitchAlignment = 256;
    prop->deviceOverlap = info.copy_engines > 0;
    prop->multiProcessorCount = info.multiprocessors;
    prop->integrated = info.integrated;
    prop->canMapHostMemory = prop->concurrentKernels = prop->unifiedAddressing = 1;
    prop->hostRegisterSupported = prop->memoryPoolsSupported = 1;
    prop->asyncEngineCount = info.copy_engines;
    prop->memoryClockRate = info.memory_clock_khz;
    prop->memoryBusWidth = info.memory_bus_bits;
    prop->l2CacheSize = info.l2_bytes;
    prop->streamPrioritiesSupported = info.least_priority != info.greatest_priority;
    prop->managedMemory = prop->pageableMemoryAccess = prop->concurrentManagedAccess =
        prop->directManagedMemAccessFromHost = prop->canUseHostPointerForRegisteredMem =
            prop->pageableMemoryAccessUsesHostPageTables = info.host_pointers_usable;
}

constexpr unsigned kScheduleFlags =
    infinirtDeviceScheduleSpin | infinirtDeviceScheduleYield | infinirtDeviceScheduleBlockingSync;

Error check_flags(Call &call, unsigned flags) {
    unsigned schedule = flags & infinirtDeviceScheduleMask;
    if ((flags & ~infinirtDeviceMask) || (schedule & (schedule - 1)) ||
        (schedule & ~kScheduleFlags))
        return call.invalid(
            "flags is 0x%x: expected at most one infinirtDeviceSchedule... flag, with "
            "infinirtDeviceMapHost, ...LmemResizeToMax or ...SyncMemops",
            flags);
    return infinirtSuccess;
}

}  // namespace

namespace impl {

Error GetDeviceCount(Call &call, int *count) {
    *count = static_cast<int>(call.thread.backend->devices.size());
    return infinirtSuccess;
}

Error GetDevice(Call &call, int *device) {
    *device = call.device().index;
    return infinirtSuccess;
}

Error SetDevice(Call &call, int device) {
    Device *found = look_up(call, device, 1);
    if (!found) return call.error();
    if (Error error = call.thread.use(*found)) return call.driver(error, "choosing the device");
    return infinirtSuccess;
}

Error InitDevice(Call &call, int device, unsigned int deviceFlags, unsigned int flags) {
    Device *found = look_up(call, device, 1);
    if (!found) return call.error();
    if (flags & ~infinirtInitDeviceFlagsAreValid)
        return call.invalid("flags is 0x%x: expected 0 or infinirtInitDeviceFlagsAreValid", flags);
    if (!(flags & infinirtInitDeviceFlagsAreValid)) return infinirtSuccess;
    if (Error error = check_flags(call, deviceFlags)) return error;
    found->flags.store(deviceFlags, std::memory_order_relaxed);
    return infinirtSuccess;
}

// A list of devices to try in order: the first of them that exists becomes the device of this
// thread.
Error SetValidDevices(Call &call, int *device_arr, int len) {
    if (len < 0) return call.invalid("argument 2 (len) is %d: expected 0 or more", len);
    for (int i = 0; i < len; ++i)
        if (!look_up(call, device_arr[i], 1)) return call.error();
    if (len > 0)
        if (Error error = call.thread.use(*call.thread.backend->devices[device_arr[0]]))
            return call.driver(error, "choosing the device");
    return infinirtSuccess;
}

Error DeviceSynchronize(Call &call) { return synchronize(call, call.device()); }

Error DeviceReset(Call &call) {
    Device &device = call.device();
    Kept &kept = Kept::get();
    if (Error error = synchronize(call, device)) return error;
    StreamTable::get().each([&](Stream &stream) {
        if (&stream.device != &device || stream.per_thread || kept.has(&stream)) return;
        device.driver().stream_destroy(device.index, stream.driver);
        StreamTable::get().destroy(&stream);
    });
    EventTable::get().each([&](Event &event) {
        if (&event.device != &device) return;
        device.driver().event_destroy(device.index, event.driver);
        EventTable::get().destroy(&event);
    });
    for (const MemoryRange &range : memory_of(device)) {
        if (range.kind != MemoryKind::Device && range.kind != MemoryKind::Managed) continue;
        MemoryRange removed;
        void *base = reinterpret_cast<void *>(range.base);
        if (kept.has(base)) continue;
        if (!remove_memory(base, range.kind, &removed)) continue;
        if (range.kind == MemoryKind::Managed) forget_advice(range.base);
        device.driver().release(device.index, base, removed.bytes);
    }
    reset_pools(device);
    sweep_graph_leftovers();
    device.flags.store(0, std::memory_order_relaxed);
    device.peers.store(0, std::memory_order_relaxed);
    for (auto &limit : device.limits) limit.store(0, std::memory_order_relaxed);
    return infinirtSuccess;
}

Error GetDeviceProperties(Call &call, infinirtDeviceProp *prop, int device) {
    Device *found = look_up(call, device, 2);
    if (!found) return call.error();
    describe(*found, prop);
    return infinirtSuccess;
}

Error DeviceGetAttribute(Call &call, int *value, infinirtDeviceAttr attr, int device) {
    Device *found = look_up(call, device, 3);
    if (!found) return call.error();
    if (auto answer = found->driver().device_attribute) {
        if (answer(device, attr, value) == infinirtSuccess) return infinirtSuccess;
        call.thread.explanation.clear();
    }
    if (described(found->info, attr, value)) return infinirtSuccess;
    return call.invalid("argument 2 (attr) is %d: expected an infinirtDevAttr value", attr);
}

Error ChooseDevice(Call &call, int *device, const infinirtDeviceProp *prop) {
    // The device that matches most of the requested properties; the first one of several.
    int best = -1;
    for (const auto &candidate : call.thread.backend->devices) {
        const InfiniDeviceInfo &info = candidate->info;
        int score =
            (info.memory_bytes >= prop->totalGlobalMem) +
            (info.major > prop->major || (info.major == prop->major && info.minor >= prop->minor)) +
            (info.multiprocessors >= prop->multiProcessorCount) +
            (info.integrated == prop->integrated) +
            (prop->name[0] && strncmp(info.name, prop->name, sizeof prop->name) == 0);
        if (score <= best) continue;
        best = score;
        *device = candidate->index;
    }
    return infinirtSuccess;
}

Error SetDeviceFlags(Call &call, unsigned int flags) {
    if (Error error = check_flags(call, flags)) return error;
    call.device().flags.store(flags, std::memory_order_relaxed);
    return infinirtSuccess;
}

Error GetDeviceFlags(Call &call, unsigned int *flags) {
    *flags = call.device().flags.load(std::memory_order_relaxed) | infinirtDeviceMapHost;
    return infinirtSuccess;
}

Error DeviceGetByPCIBusId(Call &call, int *device, const char *pciBusId) {
    for (const auto &candidate : call.thread.backend->devices) {
        if (bus_id(*candidate) != pciBusId) continue;
        *device = candidate->index;
        return infinirtSuccess;
    }
    return call.fail(infinirtErrorInvalidDevice,
                     "argument 2 (pciBusId) is \"%.64s\": no device has it", pciBusId);
}

Error DeviceGetPCIBusId(Call &call, char *pciBusId, int len, int device) {
    Device *found = look_up(call, device, 3);
    if (!found) return call.error();
    std::string id = bus_id(*found);
    if (len <= static_cast<int>(id.size()))
        return call.invalid("argument 2 (len) is %d: expected %zu or more", len, id.size() + 1);
    memcpy(pciBusId, id.c_str(), id.size() + 1);
    return infinirtSuccess;
}

Error DeviceGetStreamPriorityRange(Call &call, int *leastPriority, int *greatestPriority) {
    if (leastPriority) *leastPriority = call.device().info.least_priority;
    if (greatestPriority) *greatestPriority = call.device().info.greatest_priority;
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt

using namespace infini::rt;

extern "C" {

void infiniKeep(const void *memory_or_stream) try {
    Kept &kept = Kept::get();
    std::lock_guard lock(kept.mutex);
    kept.all.insert(memory_or_stream);
} catch (...) {  // no memory to record it
}

void infiniLetGo(const void *memory_or_stream) {
    Kept &kept = Kept::get();
    std::lock_guard lock(kept.mutex);
    kept.all.erase(memory_or_stream);
}

}  // extern "C"
