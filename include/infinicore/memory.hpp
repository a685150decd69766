#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "types.hpp"

namespace infinicore {

// A block of device memory, shared by the tensors in it.
class INFINI_EXPORT Memory {
public:
    using Deleter = std::function<void(std::byte *)>;

    // The deleter is called with `data` when the last owner is gone; it may be empty.
    Memory(std::byte *data, size_t size, Device device, Deleter deleter, bool pin_memory = false);
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    virtual ~Memory();

    // The address. Memory that was not allocated yet (for a result of an operation being recorded)
    // is allocated now.
    std::byte *data() {
        if (__builtin_expect(is_filled_by_host(), 0)) set_filled_by_host(false);
        return data_to_read();
    }
    // The same, for reading only.
    std::byte *data_to_read() {
        if (__builtin_expect(!data_ && size_ != 0, 0)) place();
        return data_;
    }
    // True if the host filled it and its address has not been requested for writing since: no work
    // in a stream can change it, so it can be read without waiting.
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
    virtual void place();  // sets data_, or throws

    std::byte *data_;
    size_t size_;
    Device device_;
    bool pinned_ = false;

private:
    std::atomic<bool> filled_by_host_{false};
    Deleter deleter_;
};

}  // namespace infinicore
