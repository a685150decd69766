#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "types.hpp"

namespace infinicore {

// A piece of memory of a device, shared by the tensors that lie in it.
class INFINI_EXPORT Memory {
public:
    using Deleter = std::function<void(std::byte *)>;

    // The deleter is called with `data` when the last holder goes; it may be empty.
    Memory(std::byte *data, size_t size, Device device, Deleter deleter, bool pin_memory = false);
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    virtual ~Memory();

    // Where it lies. Memory whose place was left open (a result of an operation that is being
    // recorded) gets one now, and keeps it.
    std::byte *data() {
        if (__builtin_expect(is_filled_by_host(), 0)) set_filled_by_host(false);
        return data_to_read();
    }
    // The same for whoever does not write there.
    std::byte *data_to_read() {
        if (__builtin_expect(!data_ && size_ != 0, 0)) place();
        return data_;
    }
    // The host has filled it, and nobody has asked for the address to write since: no work in a
    // stream can change it, so it is read without waiting for any.
    bool is_filled_by_host() const { return filled_by_host_.load(std::memory_order_relaxed); }
    void set_filled_by_host(bool filled) {
        filled_by_host_.store(filled, std::memory_order_relaxed);
    }
    Device device() const { return device_; }
    size_t size() const { return size_; }
    bool is_pinned() const { return pinned_; }
    bool is_placed() const { return data_ != nullptr || size_ == 0; }

protected:
    Memory(std::byte *data, size_t size, Device device) noexcept
        : data_(data), size_(size), device_(device) {}
    virtual void place();  // gives data_ a value, or throws

    std::byte *data_;
    size_t size_;
    Device device_;
    bool pinned_ = false;

private:
    std::atomic<bool> filled_by_host_{false};
    Deleter deleter_;
};

}  // namespace infinicore
