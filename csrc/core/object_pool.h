// Free lists for small objects that are allocated often: each thread caches the memory of some.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>

#include "infinicore.h"
#include "static_tls.h"

namespace infinicore::detail {

class PoolOfThread {
public:
    static constexpr size_t kStep = 32, kSizes = 8;  // up to 256 bytes
    static constexpr unsigned kMost = 64;            // of a size

    void *take(size_t bytes) {
        size_t size = (bytes - 1) / kStep;
        if (size >= kSizes || !heads_[size]) return ::operator new(round(bytes));
        Node *node = heads_[size];
        heads_[size] = node->next;
        --counts_[size];
        return node;
    }
    void give(void *memory, size_t bytes) noexcept {
        size_t size = (bytes - 1) / kStep;
        if (size >= kSizes || counts_[size] >= limit_) return full(memory, size);
        heads_[size] = new (memory) Node{heads_[size]};
        ++counts_[size];
    }

private:
    struct Node {
        Node *next;
    };
    static size_t round(size_t bytes) { return (bytes + kStep - 1) / kStep * kStep; }
    // The slow path: too many objects, or the thread's first one, which registers the thread's
    // cleanup.
    INFINI_EXPORT void full(void *memory, size_t size) noexcept;
    friend struct PoolEnd;

    std::array<Node *, kSizes> heads_{};
    std::array<unsigned, kSizes> counts_{};
    unsigned limit_ = 0;
    bool ended_ = false;
};

extern INFINI_EXPORT INFINI_STATIC_TLS constinit thread_local PoolOfThread pool_of_thread;

template <class T>
struct Pooled {
    using value_type = T;
    Pooled() = default;
    template <class U>
    Pooled(const Pooled<U> &) {}
    T *allocate(size_t count) {
        return static_cast<T *>(count == 1 ? pool_of_thread.take(sizeof(T))
                                           : ::operator new(count * sizeof(T)));
    }
    void deallocate(T *memory, size_t count) noexcept {
        count == 1 ? pool_of_thread.give(memory, sizeof(T)) : ::operator delete(memory);
    }
    template <class U>
    bool operator==(const Pooled<U> &) const {
        return true;
    }
};

// std::make_shared, from the pool.
template <class T, class... Arguments>
std::shared_ptr<T> make_pooled(Arguments &&...arguments) {
    return std::allocate_shared<T>(Pooled<T>(), std::forward<Arguments>(arguments)...);
}

}  // namespace infinicore::detail
