#include "object_pool.h"

namespace infinicore::detail {

constinit thread_local PoolOfThread pool_of_thread;

// Address sanitizers are to see every object's end.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned kLimit = 0;
#else
constexpr unsigned kLimit = PoolOfThread::kMost;
#endif

struct PoolEnd {
    bool armed = false;
    ~PoolEnd() {
        PoolOfThread &pool = pool_of_thread;
        pool.ended_ = true;  // objects destroyed even later are not kept
        pool.limit_ = 0;
        for (size_t i = 0; i < PoolOfThread::kSizes; ++i)
            while (auto *node = pool.heads_[i]) {
                pool.heads_[i] = node->next;
                ::operator delete(node);
            }
        pool.counts_ = {};
    }
};

void PoolOfThread::full(void *memory, size_t size) noexcept {
    if (limit_ == 0 && !ended_ && kLimit > 0) {
        static thread_local PoolEnd end;
        end.armed = true;
        limit_ = kLimit;
        if (size < kSizes) return give(memory, (size + 1) * kStep);
    }
    ::operator delete(memory);
}

}  // namespace infinicore::detail
