// The items of a stream, and the queue that holds them.
#pragma once

#include <infini/backend.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace infini::cpu {

class Ticket;
class SharedEvent;
struct QueuedKernel;

enum class Kind : uint32_t {
    Copy,
    Fill,
    Kernel,
    Host,
    Complete,        // a ticket: of an event record, or of a wait for this position in the queue
    Await,           // a ticket: continue when it is complete
    SharedComplete,  // the same two for an interprocess event
    SharedAwait,
};

// Whether it processes data. Only such items compete for the slots of Workers.
inline bool is_device_work(Kind kind) { return kind <= Kind::Kernel; }

struct SharedRecord {
    SharedEvent *event;  // the item holds a reference
    uint64_t number;
};

struct Item {
    Kind kind;
    union {
        InfiniCopy copy;
        InfiniFill fill;
        QueuedKernel *kernel;
        InfiniHostCall host;
        Ticket *ticket;  // the item holds a reference
        SharedRecord shared;
    };
};

// An unbounded queue, as a list of blocks that never move, so that items run in place. Producers
// are serialized by the stream's lock; there is one consumer at a time, the thread that runs the
// stream. The two sides share only the stream's count of published items, so neither ever waits for
// the other.
class Queue {
public:
    Queue() = default;
    Queue(const Queue &) = delete;
    Queue &operator=(const Queue &) = delete;
    ~Queue() {
        while (head_) {
            Block *next = head_->next;
            delete head_;
            head_ = next;
        }
        delete spare_.load(std::memory_order_relaxed);
    }

    // Producer: reserves space for `count` items. False: no memory.
    bool reserve(size_t count) {
        while (room_ < count) {
            Block *block = spare_.exchange(nullptr, std::memory_order_acquire);
            if (!block) block = new (std::nothrow) Block;
            if (!block) return false;
            block->next = nullptr;
            (last_ ? last_->next : head_) = block;
            if (!tail_) tail_ = block;
            last_ = block;
            room_ += kBlockItems;
        }
        return true;
    }

    // Producer: the next free item, which was reserved. The consumer sees it once it is published.
    Item &put() {
        if (tail_used_ == kBlockItems) {
            tail_ = tail_->next;
            tail_used_ = 0;
        }
        --room_;
        return tail_->items[tail_used_++];
    }

    // Producer: takes back the item put last, which was not published.
    void unput() {
        --tail_used_;
        ++room_;
    }

    // Consumer: the oldest item. There must be one.
    Item &front() {
        if (head_used_ == kBlockItems) {
            Block *empty = head_;
            head_ = head_->next;
            head_used_ = 0;
            delete spare_.exchange(empty, std::memory_order_acq_rel);
        }
        return head_->items[head_used_];
    }

    void pop() { ++head_used_; }

private:
    static constexpr size_t kBlockItems = 32;
    struct Block {
        Item items[kBlockItems];
        Block *next;
    };

    // Producers' side: `tail_` is written to, `last_` is the last one reserved.
    Block *tail_ = nullptr, *last_ = nullptr;
    size_t tail_used_ = 0, room_ = 0;
    // Consumer's side, in a cache line of its own.
    alignas(64) Block *head_ = nullptr;
    size_t head_used_ = 0;
    // An empty block returned by the consumer, so that a stream in steady use allocates nothing.
    std::atomic<Block *> spare_{nullptr};
};

}  // namespace infini::cpu
