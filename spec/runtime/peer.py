"""Peers: access and copies between devices of one kind."""

FUNCTIONS = """
DeviceGetP2PAttribute(out int *value, enum infinirtDeviceP2PAttr attr, int srcDevice, int dstDevice)
    Tell one number about the link between two devices.

Memcpy3DPeer(in const struct infinirtMemcpy3DPeerParms *p)
    Copy a box from one device to another.

Memcpy3DPeerAsync(in const struct infinirtMemcpy3DPeerParms *p, infinirtStream_t stream = 0)
    Copy a box from one device to another in stream order.

MemcpyPeer(ptr void *dst, int dstDevice, ptr const void *src, int srcDevice, size_t count)
    Copy bytes from one device to another; works without peer access too.

MemcpyPeerAsync(ptr void *dst, int dstDevice, ptr const void *src, int srcDevice, size_t count,
        infinirtStream_t stream = 0)
    Copy bytes from one device to another in stream order.

DeviceCanAccessPeer(out int *canAccessPeer, int device, int peerDevice)
    Tell whether a device could reach another's memory directly.

DeviceEnablePeerAccess(int peerDevice, unsigned int flags)
    Let the current device reach another's memory. `flags` must be 0.

DeviceDisablePeerAccess(int peerDevice)
    Undo DeviceEnablePeerAccess.
"""
