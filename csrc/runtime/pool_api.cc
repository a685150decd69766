// The functions of memory pools and of allocation in stream order.
#include <algorithm>
#include <cstring>

#include "graph.h"
#include "impl.h"
#include "pool.h"

namespace infini::rt {
namespace {

Error capture_allocation(Call &call, Device &device, size_t bytes, Stream &stream, void **memory) {
    std::lock_guard lock(graph_mutex());
    if (Error error = check_capture_valid(call, stream)) return error;
    Graph &graph = *stream.capture.load(std::memory_order_relaxed)->graph;
    Node *node = nullptr;
    if (Error error = add_allocation_node(call, graph, device, bytes, stream.tail, &node, memory))
        return error;
    capture_node(stream, *node);
    return infinirtSuccess;
}

Error capture_free(Call &call, void *pointer, Stream &stream) {
    std::lock_guard lock(graph_mutex());
    if (Error error = check_capture_valid(call, stream)) return error;
    Graph &graph = *stream.capture.load(std::memory_order_relaxed)->graph;
    Node *node = nullptr;
    if (Error error = add_free_node(call, graph, stream.device, pointer, stream.tail, &node))
        return error;
    capture_node(stream, *node);
    return infinirtSuccess;
}

// The legacy stream may not be used, explicitly or not, while a blocking stream is captured.
Error check_stream(Call &call, Stream &stream) {
    return stream.legacy ? check_legacy_use(call, stream.device) : infinirtSuccess;
}

Error allocate(Call &call, Pool *pool, Device &device, size_t bytes, Stream &stream,
               void **memory) {
    *memory = nullptr;
    if (bytes == 0) return infinirtSuccess;  // as Malloc
    if (stream.capture.load(std::memory_order_acquire))
        return capture_allocation(call, device, bytes, stream, memory);
    if (Error error = check_stream(call, stream)) return error;
    if (Error error = check_unsafe_call(call)) return error;
    if (!pool && !(pool = current_pool(call, device))) return call.error();
    return allocate_block(call, *pool, stream, bytes, memory);
}

Error unknown_attribute(Call &call, infinirtMemPoolAttr attribute) {
    return call.invalid("attr is %d: expected an infinirtMemPoolAttr (1 to 8)",
                        static_cast<int>(attribute));
}

std::atomic<bool> *reuse_rule(Pool &pool, infinirtMemPoolAttr attribute) {
    switch (attribute) {
        case infinirtMemPoolReuseFollowEventDependencies:
            return &pool.follow_dependencies;
        case infinirtMemPoolReuseAllowOpportunistic:
            return &pool.opportunistic;
        case infinirtMemPoolReuseAllowInternalDependencies:
            return &pool.internal_dependencies;
        default:
            return nullptr;
    }
}

// The device that an access descriptor names. Null with the error recorded.
Device *location_device(Call &call, const Pool &pool, const infinirtMemLocation &location) {
    auto &devices = pool.device.backend.devices;
    if (location.type == infinirtMemLocationTypeDevice && location.id >= 0 &&
        static_cast<size_t>(location.id) < devices.size())
        return devices[location.id].get();
    call.fail(location.type == infinirtMemLocationTypeDevice ? infinirtErrorInvalidDevice
                                                             : infinirtErrorNotSupported,
              "location has type %d and id %d: expected infinirtMemLocationTypeDevice and a device "
              "number from 0 to %zu",
              static_cast<int>(location.type), location.id, devices.size() - 1);
    return nullptr;
}

}  // namespace

namespace impl {

Error MallocAsync(Call &call, void **devPtr, size_t size, Stream &hStream) {
    return allocate(call, nullptr, hStream.device, size, hStream, devPtr);
}

Error MallocFromPoolAsync(Call &call, void **ptr, size_t size, Pool &memPool, Stream &stream) {
    if (&memPool.device.backend != &stream.device.backend)
        return call.invalid("memPool belongs to another device type than the stream");
    return allocate(call, &memPool, memPool.device, size, stream, ptr);
}

Error FreeAsync(Call &call, void *devPtr, Stream &hStream) {
    if (!devPtr) return infinirtSuccess;
    if (hStream.capture.load(std::memory_order_acquire)) return capture_free(call, devPtr, hStream);
    if (Error error = check_stream(call, hStream)) return error;
    const MemoryRange &range = look_up(call.thread.memory, devPtr, 0);
    if (range.device && &range.device->backend != &hStream.device.backend)
        return call.invalid("devPtr is memory of another device type than the stream");
    if (range.device) switch (range.kind) {
            case MemoryKind::Pool:
                return free_block(call, range, devPtr, &hStream);
            case MemoryKind::Managed:
                return call.fail(infinirtErrorNotSupported,
                                 "devPtr is managed memory: use infinirtFree");
            case MemoryKind::Device:
                return free_later(call, MemoryRange(range), devPtr, hStream);
            case MemoryKind::Graph:
                if (free_graph_memory(devPtr, &hStream)) return infinirtSuccess;
                break;
            default:
                break;
        }
    return call.invalid("devPtr is %p: expected memory of infinirtMallocAsync that was not freed",
                        devPtr);
}

Error DeviceGetDefaultMemPool(Call &call, infinirtMemPool_t *memPool, int device) {
    Device *found = device_argument(call, device, "device");
    Pool *pool = found ? default_pool(call, *found) : nullptr;
    if (!pool) return call.error();
    *memPool = handle_of(pool);
    return infinirtSuccess;
}

Error DeviceGetMemPool(Call &call, infinirtMemPool_t *memPool, int device) {
    Device *found = device_argument(call, device, "device");
    Pool *pool = found ? current_pool(call, *found) : nullptr;
    if (!pool) return call.error();
    *memPool = handle_of(pool);
    return infinirtSuccess;
}

Error DeviceSetMemPool(Call &call, int device, Pool &memPool) {
    Device *found = device_argument(call, device, "device");
    if (!found) return call.error();
    if (&memPool.device != found)
        return call.invalid("memPool is a pool of device %d: expected one of device %d",
                            memPool.device.index, device);
    found->current_pool.store(&memPool, std::memory_order_release);
    return infinirtSuccess;
}

Error MemPoolCreate(Call &call, infinirtMemPool_t *memPool, const infinirtMemPoolProps *poolProps) {
    if (Error error = check_unsafe_call(call)) return error;
    const infinirtMemPoolProps &properties = *poolProps;
    if (properties.allocType != infinirtMemAllocationTypePinned)
        return call.invalid("poolProps.allocType is %d: expected infinirtMemAllocationTypePinned",
                            static_cast<int>(properties.allocType));
    if (properties.handleTypes != infinirtMemHandleTypeNone)
        return call.fail(infinirtErrorNotSupported,
                         "poolProps.handleTypes is 0x%x: pools cannot be shared between processes; "
                         "use infinirtMemHandleTypeNone",
                         static_cast<unsigned>(properties.handleTypes));
    bool padded = std::all_of(std::begin(properties.reserved), std::end(properties.reserved),
                              [](unsigned char byte) { return byte == 0; });
    if (!padded || properties.win32SecurityAttributes)
        return call.invalid("poolProps has bytes set that are reserved: expected zeros");
    if (properties.location.type != infinirtMemLocationTypeDevice)
        return call.fail(properties.location.type == infinirtMemLocationTypeInvalid
                             ? infinirtErrorInvalidValue
                             : infinirtErrorNotSupported,
                         "poolProps.location.type is %d: expected infinirtMemLocationTypeDevice",
                         static_cast<int>(properties.location.type));
    auto &devices = call.thread.backend->devices;
    if (properties.location.id < 0 || static_cast<size_t>(properties.location.id) >= devices.size())
        return call.invalid("poolProps.location.id is %d: expected a device number from 0 to %zu",
                            properties.location.id, devices.size() - 1);
    Pool *pool = new_pool(*devices[properties.location.id], properties.maxSize, false);
    if (!pool) return call.fail(infinirtErrorMemoryAllocation, "too many memory pools");
    *memPool = handle_of(pool);
    return infinirtSuccess;
}

Error MemPoolDestroy(Call &call, Pool &memPool) {
    if (memPool.is_default)
        return call.invalid("memPool is the default pool of device %d, which stays",
                            memPool.device.index);
    retire_pool(memPool);
    return infinirtSuccess;
}

Error MemPoolTrimTo(Call &call, Pool &memPool, size_t minBytesToKeep) {
    if (Error error = check_unsafe_call(call)) return error;
    Pool::Chunks given;
    {
        std::lock_guard lock(memPool.mutex());
        if (memPool.reserved > minBytesToKeep) memPool.shrink(minBytesToKeep, &given);
    }
    for (const Pool::Chunk &chunk : given)
        chunk.device->driver().release(chunk.device->index, chunk.memory, chunk.bytes);
    return infinirtSuccess;
}

Error MemPoolSetAttribute(Call &call, Pool &memPool, infinirtMemPoolAttr attr, void *value) {
    if (std::atomic<bool> *rule = reuse_rule(memPool, attr)) {
        int on;
        memcpy(&on, value, sizeof on);
        rule->store(on != 0, std::memory_order_relaxed);
        return infinirtSuccess;
    }
    uint64_t bytes;
    memcpy(&bytes, value, sizeof bytes);
    bool reserved = attr == infinirtMemPoolAttrReservedMemHigh;
    switch (attr) {
        case infinirtMemPoolAttrReleaseThreshold:
            memPool.release_threshold.store(bytes, std::memory_order_relaxed);
            memPool.device.pool_excess.store(true, std::memory_order_relaxed);
            return infinirtSuccess;
        case infinirtMemPoolAttrReservedMemHigh:
        case infinirtMemPoolAttrUsedMemHigh: {
            if (bytes != 0)
                return call.invalid("value is %llu: a high-water mark can only be set to 0",
                                    static_cast<unsigned long long>(bytes));
            std::lock_guard lock(memPool.mutex());
            (reserved ? memPool.reserved_high : memPool.used_high) =
                reserved ? memPool.reserved : memPool.used;
            return infinirtSuccess;
        }
        case infinirtMemPoolAttrReservedMemCurrent:
        case infinirtMemPoolAttrUsedMemCurrent:
            return call.invalid("attr is %d, which can only be read", static_cast<int>(attr));
        default:
            return unknown_attribute(call, attr);
    }
}

Error MemPoolGetAttribute(Call &call, Pool &memPool, infinirtMemPoolAttr attr, void *value) {
    if (Error error = check_unsafe_call(call)) return error;
    if (std::atomic<bool> *rule = reuse_rule(memPool, attr)) {
        int on = rule->load(std::memory_order_relaxed);
        memcpy(value, &on, sizeof on);
        return infinirtSuccess;
    }
    uint64_t bytes;
    {
        std::lock_guard lock(memPool.mutex());
        switch (attr) {
            case infinirtMemPoolAttrReleaseThreshold:
                bytes = memPool.release_threshold;
                break;
            case infinirtMemPoolAttrReservedMemCurrent:
                bytes = memPool.reserved;
                break;
            case infinirtMemPoolAttrReservedMemHigh:
                bytes = memPool.reserved_high;
                break;
            case infinirtMemPoolAttrUsedMemCurrent:
                bytes = memPool.used;
                break;
            case infinirtMemPoolAttrUsedMemHigh:
                bytes = memPool.used_high;
                break;
            default:
                return unknown_attribute(call, attr);
        }
    }
    memcpy(value, &bytes, sizeof bytes);
    return infinirtSuccess;
}

Error MemPoolSetAccess(Call &call, Pool &memPool, const infinirtMemAccessDesc *descList,
                       size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const infinirtMemAccessDesc &given = descList[i];
        Device *device = location_device(call, memPool, given.location);
        if (!device) return call.error();
        if (given.flags != infinirtMemAccessFlagsProtNone &&
            given.flags != infinirtMemAccessFlagsProtReadWrite)
            return call.fail(given.flags == infinirtMemAccessFlagsProtRead
                                 ? infinirtErrorNotSupported
                                 : infinirtErrorInvalidValue,
                             "descList[%zu].flags is %d: expected none or read-write", i,
                             static_cast<int>(given.flags));
        if (device == &memPool.device) {
            if (given.flags == infinirtMemAccessFlagsProtReadWrite) continue;
            return call.fail(infinirtErrorInvalidDevice,
                             "descList[%zu]: the pool's own device %d cannot be shut out", i,
                             device->index);
        }
        int can = 0;
        auto peer_access = device->driver().peer_access;
        if (peer_access) peer_access(device->index, memPool.device.index, &can);
        if (given.flags == infinirtMemAccessFlagsProtReadWrite && !can)
            return call.fail(infinirtErrorInvalidDevice,
                             "descList[%zu]: device %d cannot reach the memory of device %d", i,
                             device->index, memPool.device.index);
    }
    std::lock_guard lock(memPool.mutex());
    for (size_t i = 0; i < count; ++i) memPool.access[descList[i].location.id] = descList[i].flags;
    return infinirtSuccess;
}

Error MemPoolGetAccess(Call &call, infinirtMemAccessFlags *flags, Pool &memPool,
                       infinirtMemLocation *location) {
    Device *device = location_device(call, memPool, *location);
    if (!device) return call.error();
    std::lock_guard lock(memPool.mutex());
    auto found = memPool.access.find(device->index);
    *flags = device == &memPool.device       ? infinirtMemAccessFlagsProtReadWrite
             : found == memPool.access.end() ? infinirtMemAccessFlagsProtNone
                                             : found->second;
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
