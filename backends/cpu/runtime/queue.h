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
    Complete,        // a ticket: of a record of an event, or of a wait for this place in the queue
    Await,           // a ticket: go on when it is complete
    SharedComplete,  // the same two for an event that other processes know
    SharedAwait,
};

// Does it work on data? Only such items compete for the slots of Workers.
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

// A queue without limit, as a list of blocks that never move, so that items run in place.
// Producers exclude each other by the stream's lock; there is one consumer at a time, whoever runs
// the stream. The two sides meet only in the stream's count of published items, so neither ever
// waits for the other.
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

    // Producer: makes room for `count` items. False when there is no memory for it.
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
    // An empty block on its way back from the consumer: a stream in steady use allocates nothing.
    std::atomic<Block *> spare_{nullptr};
};

}  // namespace infini::cpu
