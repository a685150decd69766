// Memory allocated by the vendor, and blocking copies.
#include <cstring>
#include <map>

#include "stream.h"

namespace infini::vendor_runtime {
namespace {

// Blocks of memory by their address.
class Blocks {
public:
    void add(void *memory, size_t bytes) {
        std::lock_guard guard(lock_);
        blocks_[static_cast<char *>(memory)] = bytes;
    }
    void remove(void *memory) {
        std::lock_guard guard(lock_);
        blocks_.erase(static_cast<char *>(memory));
    }
    bool contain(const void *memory, size_t bytes) {
        auto *first = static_cast<const char *>(memory);
        std::lock_guard guard(lock_);
        auto next = blocks_.upper_bound(first);
        if (next == blocks_.begin()) return false;
        auto [base, size] = *std::prev(next);
        return size_t(first - base) + bytes <= size;
    }

private:
    std::mutex lock_;
    std::map<const char *, size_t> blocks_;
};

Blocks &pinned() {
    static auto *blocks = new Blocks;
    return *blocks;
}
Blocks &on_devices() {
    static auto *blocks = new Blocks;
    return *blocks;
}

// Enables direct access between devices; once for each pair.
bool are_peers(int device, int peer) {
    if (!has(Word::kEnablePeer)) return has(Word::kMemcpyPeer);
    static std::mutex lock;
    static auto &known = *new std::map<std::pair<int, int>, bool>;
    std::lock_guard guard(lock);
    auto [at, is_new] = known.try_emplace({device, peer});
    if (is_new) {
        OnDevice here(device);
        Values values;
        values.device2 = peer;
        at->second = call(Word::kEnablePeer, values) == 0;
    }
    return at->second;
}

}  // namespace

bool is_pinned(const void *memory, size_t bytes) { return pinned().contain(memory, bytes); }

bool is_on_device(const void *memory) { return on_devices().contain(memory, 1); }

Error device_allocate(int device, size_t bytes, void **memory) {
    OnDevice here(device);
    Values values;
    values.out = memory;
    values.bytes = bytes;
    const Error error = check(Word::kMalloc, values);
    if (error == infinirtSuccess) on_devices().add(*memory, bytes);
    return error;
}

Error device_release(int device, void *memory) {
    OnDevice here(device);
    Values values;
    values.dst = memory;
    on_devices().remove(memory);
    return check(Word::kFree, values);
}

Error pin_allocate(size_t bytes, void **memory) {
    OnDevice here(0);
    Values values;
    values.out = memory;
    values.bytes = bytes;
    const Error error = check(Word::kMallocHost, values);
    if (error == infinirtSuccess) pinned().add(*memory, bytes);
    return error;
}

Error pin_release(void *memory) {
    OnDevice here(0);
    Values values;
    values.dst = memory;
    pinned().remove(memory);
    return check(Word::kFreeHost, values);
}

Error copy_bytes(void *dst, int dst_device, const void *src, int src_device, size_t bytes) {
    if (dst_device < 0 && src_device < 0) {
        std::memmove(dst, src, bytes);
        return infinirtSuccess;
    }
    Values values;
    values.dst = dst;
    values.src = src;
    values.bytes = bytes;
    values.device = dst_device;
    values.device2 = src_device;
    OnDevice here(dst_device < 0 ? src_device : dst_device);
    if (dst_device < 0 || src_device < 0 || dst_device == src_device) {
        values.direction = dst_device < 0   ? vendor.directions.device_to_host
                           : src_device < 0 ? vendor.directions.host_to_device
                                            : vendor.directions.device_to_device;
        return check(Word::kMemcpy, values);
    }
    if (has(Word::kMemcpyPeer) && are_peers(dst_device, src_device)) {
        values.direction = vendor.directions.device_to_device;
        return check(Word::kMemcpyPeer, values);
    }
    std::vector<char> between(bytes);
    if (Error error = copy_bytes(between.data(), -1, src, src_device, bytes)) return error;
    return copy_bytes(dst, dst_device, between.data(), -1, bytes);
}

Error copy_now(const InfiniCopy &copy) {
    for (size_t z = 0; z < copy.depth; ++z)
        for (size_t y = 0; y < copy.height; ++y)
            if (Error error = copy_bytes(
                    static_cast<char *>(copy.dst) + z * copy.dst_slice + y * copy.dst_pitch,
                    copy.dst_device,
                    static_cast<const char *>(copy.src) + z * copy.src_slice + y * copy.src_pitch,
                    copy.src_device, copy.width))
                return error;
    return infinirtSuccess;
}

}  // namespace infini::vendor_runtime
