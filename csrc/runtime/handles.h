// Handle tables: a handle that a client passes in is checked before it is followed.
//
// Objects of one type live in slots of one reserved range of address space that is never given
// back. So any bit pattern can be tested: outside the range, between slots, or in a dead slot it is
// no handle. A freed slot goes to the end of the free list, so a stale handle stays recognisable
// for as long as possible.
#pragma once

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

#include "fork_lock.h"

namespace infini::rt {

template <class T>
class HandleTable {
public:
    // Leaked on purpose: clients may still call during process exit.
    static HandleTable &get() {
        static auto *table = new HandleTable;
        return *table;
    }

    T *find(const void *handle) const {
        auto offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(slots_);
        if (offset >= used_.load(std::memory_order_acquire) * sizeof(Slot)) return nullptr;
        if (offset % sizeof(Slot) != 0) return nullptr;
        Slot *slot = &slots_[offset / sizeof(Slot)];
        return slot->alive.load(std::memory_order_acquire) ? slot->object() : nullptr;
    }

    // Null when the table is full or memory is short.
    template <class... Args>
    T *make(Args &&...args) {
        Slot *slot = take();
        if (!slot) return nullptr;
        T *object = new (slot->storage) T(std::forward<Args>(args)...);
        slot->alive.store(true, std::memory_order_release);
        return object;
    }

    // From now on the handle is not found; the object itself lives until destroy().
    void retire(T *object) {
        reinterpret_cast<Slot *>(object)->alive.store(false, std::memory_order_release);
    }

    void destroy(T *object) {
        Slot *slot = reinterpret_cast<Slot *>(object);
        slot->alive.store(false, std::memory_order_release);
        object->~T();
        std::lock_guard lock(mutex_);
        free_.push_back(slot);
    }

    // For handles that clients destroy while other threads may do the same: of several one
    // succeeds.
    bool destroy_once(T *object) {
        if (!reinterpret_cast<Slot *>(object)->alive.exchange(false)) return false;
        destroy(object);
        return true;
    }

    // Calls visit(T&) for every live object. Objects made or destroyed meanwhile may or may not be
    // seen.
    template <class Visit>
    void each(Visit visit) {
        size_t used = used_.load(std::memory_order_acquire);
        for (size_t i = 0; i < used; ++i)
            if (slots_[i].alive.load(std::memory_order_acquire)) visit(*slots_[i].object());
    }

private:
    static constexpr size_t kCapacity = size_t{1} << 22;

    struct Slot {
        alignas(
            T) unsigned char storage[sizeof(T)];  // first, so that a handle is the slot's address
        std::atomic<bool> alive;
        T *object() { return std::launder(reinterpret_cast<T *>(storage)); }
    };

    HandleTable() {
        void *range = mmap(nullptr, kCapacity * sizeof(Slot), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        slots_ = range == MAP_FAILED ? nullptr : static_cast<Slot *>(range);
    }

    Slot *take() {
        std::lock_guard lock(mutex_);
        // A few dead slots are kept back so that a handle just destroyed is not reused immediately.
        if (free_.size() > 64) {
            Slot *slot = free_.front();
            free_.pop_front();
            return slot;
        }
        size_t used = used_.load(std::memory_order_relaxed);
        if (!slots_ || used == kCapacity) return nullptr;
#ifdef __SANITIZE_ADDRESS__
        // What live objects own is no leak, though they are not in malloc's memory.
        constexpr size_t kStep = 1024;
        if (used % kStep == 0) __lsan_register_root_region(&slots_[used], kStep * sizeof(Slot));
#endif
        used_.store(used + 1, std::memory_order_release);
        return &slots_[used];
    }

    Slot *slots_ = nullptr;
    std::atomic<size_t> used_{0};
    ForkSafeMutex mutex_{LockRank::Handles};
    std::deque<Slot *> free_;
};

}  // namespace infini::rt
