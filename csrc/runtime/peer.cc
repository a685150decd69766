// Peers: which devices of a kind reach each other, and copies between two of them.
#include "capture.h"
#include "copy.h"
#include "impl.h"

namespace infini::rt {
namespace {

bool can_access(Device &device, Device &peer) {
    auto peer_access = device.driver().peer_access;
    int can = 0;
    return &device != &peer && peer_access &&
           peer_access(device.index, peer.index, &can) == infinirtSuccess && can;
}

// The peer of the current device. Null with the error recorded, `own` if it is that device itself.
Device *peer_argument(Call &call, int number, Error own) {
    Device *peer = device_argument(call, number, "peerDevice");
    if (!peer) return nullptr;
    if (peer == &call.device()) {
        call.fail(own, "peerDevice is %d, the current device itself", number);
        return nullptr;
    }
    if (number < 64) return peer;
    call.fail(infinirtErrorTooManyPeers, "peerDevice is %d: only devices 0 to 63 can be peers",
              number);
    return nullptr;
}

Error check_side(Call &call, const char *name, const Operand &operand, const void *pointer,
                 int number) {
    Device *device = device_argument(call, number, name);
    if (!device) return call.error();
    if (!operand.as_device() || (operand.on_device() && operand.device != device))
        return call.invalid("%s is %p: expected memory of device %d", name, pointer, number);
    return infinirtSuccess;
}

Error check_devices(Call &call, const CopyPlan &plan, int dst_device, int src_device) {
    const InfiniCopy &copy = plan.work.as.copy;
    if (Error error = check_side(call, "dst", plan.dst, copy.dst, dst_device)) return error;
    return check_side(call, "src", plan.src, copy.src, src_device);
}

// Orders later work of `stream` after all work of `before`.
Error order(Call &call, Stream &before, Stream &stream) {
    if (&before == &stream) return infinirtSuccess;
    const InfiniDriver &driver = before.device.driver();
    InfiniWork work;
    Error error =
        driver.event_create(before.device.index, infinirtEventDisableTiming, &work.as.event);
    if (error != infinirtSuccess) return call.driver(error, "making an event");
    work.kind = INFINI_WORK_RECORD;
    error = submit_now(call, before, &work, 1);
    work.kind = INFINI_WORK_WAIT;
    if (error == infinirtSuccess) error = submit_now(call, stream, &work, 1);
    driver.event_destroy(before.device.index, work.as.event);
    return error;
}

// Asynchronous, but ordered with all other work of both devices and the current one.
Error run_between(Call &call, const CopyPlan &plan, int dst_device, int src_device) {
    auto &devices = call.thread.backend->devices;
    Stream *sides[] = {devices[src_device]->legacy.get(), devices[dst_device]->legacy.get()};
    Stream &stream = *call.device().legacy;
    for (Stream *side : {sides[0], sides[1], &stream})
        if (Error error = check_legacy_use(call, side->device)) return error;
    for (Stream *side : sides)
        if (Error error = order(call, *side, stream)) return error;
    if (Error error = submit_now(call, stream, &plan.work, 1)) return error;
    for (Stream *side : sides)
        if (Error error = order(call, stream, *side)) return error;
    return infinirtSuccess;
}

Error plan_peer_box(Call &call, const infinirtMemcpy3DPeerParms &p, CopyPlan *plan) {
    infinirtMemcpy3DParms box{p.srcArray, p.srcPos, p.srcPtr, p.dstArray,
                              p.dstPos,   p.dstPtr, p.extent, infinirtMemcpyDefault};
    if (Error error = plan_box(call, box, plan)) return error;
    return plan->empty ? infinirtSuccess : check_devices(call, *plan, p.dstDevice, p.srcDevice);
}

Error plan_peer_line(Call &call, void *dst, int dst_device, const void *src, int src_device,
                     size_t count, CopyPlan *plan) {
    if (Error error = plan_line(call, dst, src, count, infinirtMemcpyDefault, plan)) return error;
    return plan->empty ? infinirtSuccess : check_devices(call, *plan, dst_device, src_device);
}

}  // namespace

namespace impl {

Error MemcpyPeer(Call &call, void *dst, int dstDevice, const void *src, int srcDevice,
                 size_t count) {
    CopyPlan plan;
    if (Error error = plan_peer_line(call, dst, dstDevice, src, srcDevice, count, &plan))
        return error;
    return plan.empty ? infinirtSuccess : run_between(call, plan, dstDevice, srcDevice);
}

Error MemcpyPeerAsync(Call &call, void *dst, int dstDevice, const void *src, int srcDevice,
                      size_t count, Stream &stream) {
    CopyPlan plan;
    if (Error error = plan_peer_line(call, dst, dstDevice, src, srcDevice, count, &plan))
        return error;
    return plan.empty ? infinirtSuccess : run_copy(call, plan, stream);
}

Error Memcpy3DPeer(Call &call, const infinirtMemcpy3DPeerParms *p) {
    CopyPlan plan;
    if (Error error = plan_peer_box(call, *p, &plan)) return error;
    return plan.empty ? infinirtSuccess : run_between(call, plan, p->dstDevice, p->srcDevice);
}

Error Memcpy3DPeerAsync(Call &call, const infinirtMemcpy3DPeerParms *p, Stream &stream) {
    CopyPlan plan;
    if (Error error = plan_peer_box(call, *p, &plan)) return error;
    return plan.empty ? infinirtSuccess : run_copy(call, plan, stream);
}

Error DeviceCanAccessPeer(Call &call, int *canAccessPeer, int device, int peerDevice) {
    Device *from = device_argument(call, device, "device");
    Device *to = from ? device_argument(call, peerDevice, "peerDevice") : nullptr;
    if (!to) return call.error();
    *canAccessPeer = can_access(*from, *to);
    return infinirtSuccess;
}

Error DeviceEnablePeerAccess(Call &call, int peerDevice, unsigned int flags) {
    if (flags != 0) return call.invalid("flags is 0x%x: expected 0", flags);
    Device *peer = peer_argument(call, peerDevice, infinirtErrorPeerAccessUnsupported);
    if (!peer) return call.error();
    if (!can_access(call.device(), *peer))
        return call.fail(infinirtErrorPeerAccessUnsupported,
                         "device %d cannot reach the memory of device %d", call.device().index,
                         peerDevice);
    uint64_t bit = uint64_t{1} << peerDevice;
    if (call.device().peers.fetch_or(bit, std::memory_order_relaxed) & bit)
        return call.fail(infinirtErrorPeerAccessAlreadyEnabled,
                         "access to device %d is enabled already", peerDevice);
    return infinirtSuccess;
}

Error DeviceDisablePeerAccess(Call &call, int peerDevice) {
    Device *peer = peer_argument(call, peerDevice, infinirtErrorPeerAccessNotEnabled);
    if (!peer) return call.error();
    uint64_t bit = uint64_t{1} << peerDevice;
    if (!(call.device().peers.fetch_and(~bit, std::memory_order_relaxed) & bit))
        return call.fail(infinirtErrorPeerAccessNotEnabled, "access to device %d is not enabled",
                         peerDevice);
    return infinirtSuccess;
}

Error DeviceGetP2PAttribute(Call &call, int *value, infinirtDeviceP2PAttr attr, int srcDevice,
                            int dstDevice) {
    Device *from = device_argument(call, srcDevice, "srcDevice");
    Device *to = from ? device_argument(call, dstDevice, "dstDevice") : nullptr;
    if (!to) return call.error();
    if (from == to)
        return call.fail(infinirtErrorInvalidDevice,
                         "srcDevice and dstDevice are both %d: expected two devices", srcDevice);
    switch (attr) {
        case infinirtDevP2PAttrPerformanceRank:
            *value = 0;
            return infinirtSuccess;
        case infinirtDevP2PAttrAccessSupported:
        case infinirtDevP2PAttrNativeAtomicSupported:
            *value = can_access(*from, *to);
            return infinirtSuccess;
        case infinirtDevP2PAttrCudaArrayAccessSupported:
            *value = 0;
            return infinirtSuccess;
    }
    return call.invalid("attr is %d: expected an infinirtDeviceP2PAttr (1 to 4)",
                        static_cast<int>(attr));
}

}  // namespace impl
}  // namespace infini::rt
