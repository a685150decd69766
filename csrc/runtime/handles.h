// Handle tables: a handle from the user is validated before it is dereferenced.
//
// Objects of one type live in slots of a few chunks of memory that are never released. So any bit
// pattern can be tested: outside the chunks, between slots, or in a dead slot it is not a handle.
// Each chunk doubles the table, so that a process with little address space starts small, and a
// look-up compares with only one chunk in most programs. A freed slot goes to the end of the free
// list, so that a stale handle stays recognisable for as long as possible.
#pragma once

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "fork_lock.h"

namespace infini::rt {

template <class T>
class HandleTable {
public:
    // Leaked on purpose: users may still make calls during process exit.
    static HandleTable &get() {
        static auto *table = new HandleTable;
        return *table;
    }

    T *find(const void *handle) const {
        for (size_t i = chunk_count_.load(std::memory_order_acquire); i-- > 0;) {
            const Chunk &chunk = chunks_[i];
            auto offset =
                reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(chunk.slots);
            if (offset >= chunk.used.load(std::memory_order_acquire) * sizeof(Slot)) continue;
            if (offset % sizeof(Slot) != 0) return nullptr;
            Slot *slot = &chunk.slots[offset / sizeof(Slot)];
            return slot->alive.load(std::memory_order_acquire) ? slot->object() : nullptr;
        }
        return nullptr;
    }

    // Null if the table is full() or memory is short.
    template <class... Args>
    T *make(Args &&...args) {
        Slot *slot = take();
        if (!slot) return nullptr;
        T *object;
        try {
            object = new (slot->storage) T(std::forward<Args>(args)...);
        } catch (...) {
            give(slot);
            throw;
        }
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
        give(slot);
    }

    // For handles that several threads may destroy at the same time: exactly one of them succeeds.
    bool destroy_once(T *object) {
        if (!reinterpret_cast<Slot *>(object)->alive.exchange(false)) return false;
        destroy(object);
        return true;
    }

    bool full() const {
        size_t count = chunk_count_.load(std::memory_order_acquire);
        return count == kMostChunks &&
               chunks_[count - 1].used.load(std::memory_order_acquire) == capacity(count - 1);
    }

    // Calls visit(T&) for every live object. Objects created or destroyed meanwhile may or may not
    // be visited.
    template <class Visit>
    void each(Visit visit) {
        size_t count = chunk_count_.load(std::memory_order_acquire);
        for (size_t i = 0; i < count; ++i) {
            size_t used = chunks_[i].used.load(std::memory_order_acquire);
            for (Slot *slot = chunks_[i].slots; used-- > 0; ++slot)
                if (slot->alive.load(std::memory_order_acquire)) visit(*slot->object());
        }
    }

private:
    static constexpr size_t kFirst = 1024;     // slots of the first two chunks; then each doubles
    static constexpr size_t kMostChunks = 13;  // 2^22 slots

    struct Slot {
        alignas(
            T) unsigned char storage[sizeof(T)];  // first, so that a handle is the slot's address
        std::atomic<bool> alive;
        Slot *next_free;
        T *object() { return std::launder(reinterpret_cast<T *>(storage)); }
    };

    struct Chunk {
        Slot *slots = nullptr;
        std::atomic<size_t> used{0};  // slots that were taken at least once
    };

    static constexpr size_t capacity(size_t chunk) {
        return chunk == 0 ? kFirst : kFirst << (chunk - 1);
    }

    HandleTable() = default;

    Slot *take() {
        std::lock_guard lock(mutex_);
        // A few dead slots are kept in reserve so that a handle just destroyed is not reused
        // immediately.
        if (free_count_ > 64) {
            Slot *slot = first_free_;
            first_free_ = slot->next_free;
            --free_count_;
            return slot;
        }
        size_t count = chunk_count_.load(std::memory_order_relaxed);
        if (count == 0 ||
            chunks_[count - 1].used.load(std::memory_order_relaxed) == capacity(count - 1)) {
            if (count == kMostChunks) return nullptr;
            void *memory = mmap(nullptr, capacity(count) * sizeof(Slot), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (memory == MAP_FAILED) return nullptr;
            chunks_[count].slots = static_cast<Slot *>(memory);
            chunk_count_.store(++count, std::memory_order_release);
        }
        Chunk &chunk = chunks_[count - 1];
        size_t used = chunk.used.load(std::memory_order_relaxed);
#ifdef __SANITIZE_ADDRESS__
        // What live objects own is not a leak, though malloc's memory has no pointers to it.
        if (used % kFirst == 0)
            __lsan_register_root_region(&chunk.slots[used], kFirst * sizeof(Slot));
#endif
        chunk.used.store(used + 1, std::memory_order_release);
        return &chunk.slots[used];
    }

    void give(Slot *slot) {
        std::lock_guard lock(mutex_);
        slot->next_free = nullptr;
        (free_count_ ? last_free_->next_free : first_free_) = slot;
        last_free_ = slot;
        ++free_count_;
    }

    std::array<Chunk, kMostChunks> chunks_;
    std::atomic<size_t> chunk_count_{0};
    ForkSafeMutex mutex_{LockRank::Handles};
    Slot *first_free_ = nullptr, *last_free_ = nullptr;
    size_t free_count_ = 0;
};

}  // namespace infini::rt
