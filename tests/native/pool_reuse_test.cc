// When a pool reuses freed memory: each of CUDA's rules, tested with streams that are blocked by a
// latch.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.h"

namespace {

constexpr size_t kBytes = 4096;

struct Stream {
    explicit Stream(unsigned flags = infinirtStreamNonBlocking) {
        OK(infinirtStreamCreateWithFlags(&handle, flags));
    }
    ~Stream() {
        if (handle) OK(infinirtStreamDestroy(handle));
    }
    operator infinirtStream_t() const { return handle; }
    infinirtStream_t handle;
};

struct Event {
    Event() { OK(infinirtEventCreateWithFlags(&handle, infinirtEventDisableTiming)); }
    ~Event() { OK(infinirtEventDestroy(handle)); }
    operator infinirtEvent_t() const { return handle; }
    infinirtEvent_t handle;
};

enum Rules { kNone = 0, kFollow = 1, kOpportunistic = 2, kInternal = 4 };

// A pool of one chunk with some of the rules switched on: memory that may not be reused is an
// error, not another chunk.
struct TestPool {
    static constexpr size_t kLimit = 2 << 20;

    explicit TestPool(int rules) {
        infinirtMemPoolProps properties{};
        properties.allocType = infinirtMemAllocationTypePinned;
        properties.location = {infinirtMemLocationTypeDevice, 0};
        properties.maxSize = kLimit;
        OK(infinirtMemPoolCreate(&pool, &properties));
        set(infinirtMemPoolReuseFollowEventDependencies, rules & kFollow);
        set(infinirtMemPoolReuseAllowOpportunistic, rules & kOpportunistic);
        set(infinirtMemPoolReuseAllowInternalDependencies, rules & kInternal);
    }
    ~TestPool() { OK(infinirtMemPoolDestroy(pool)); }

    void set(infinirtMemPoolAttr attribute, int value) {
        value = value != 0;
        OK(infinirtMemPoolSetAttribute(pool, attribute, &value));
    }
    void *take(infinirtStream_t stream, size_t bytes = kBytes) {
        void *memory;
        OK(infinirtMallocFromPoolAsync(&memory, bytes, pool, stream));
        return memory;
    }
    // Whether allocations in this stream get that memory. It is then freed.
    bool gets(infinirtStream_t stream, void *wanted) {
        std::vector<void *> got;
        void *memory;
        while (infinirtMallocFromPoolAsync(&memory, kBytes, pool, stream) == infinirtSuccess)
            got.push_back(memory);
        CHECK_EQ(infinirtGetLastError(), infinirtErrorMemoryAllocation);
        for (void *one : got) OK(infinirtFree(one));
        return std::find(got.begin(), got.end(), wanted) != got.end();
    }

    infinirtMemPool_t pool;
};

// Memory of a pool that was freed in a stream behind a latch. The rest of the pool is in use.
struct FreedBehindLatch {
    FreedBehindLatch(TestPool &pool, infinirtStream_t stream) : stream(stream) {
        memory = pool.take(stream);
        rest = pool.take(stream, TestPool::kLimit - kBytes);
        OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
        OK(infinirtFreeAsync(memory, stream));
    }
    ~FreedBehindLatch() {
        open();
        OK(infinirtFreeAsync(rest, stream));
    }
    void open() {
        latch.open();
        OK(infinirtStreamSynchronize(stream));
    }
    infinirtStream_t stream;
    void *memory, *rest;
    Latch latch;
};

// Work that is not blocked has run by now, because other streams have done a lot meanwhile.
void give_time() {
    Stream stream;
    for (int i = 0; i < 50; ++i) {
        OK(infinirtLaunchHostFunc(stream, [](void *) {}, nullptr));
        OK(infinirtStreamSynchronize(stream));
    }
}

void same_stream() {
    Stream a;
    TestPool pool(kNone);
    FreedBehindLatch freed(pool, a);
    CHECK(pool.gets(a, freed.memory));
}

void other_stream_waits_for_completion() {
    Stream a, b;
    TestPool pool(kOpportunistic);
    FreedBehindLatch freed(pool, a);
    CHECK(!pool.gets(b, freed.memory));
    freed.open();
    CHECK(pool.gets(b, freed.memory));
}

// With the rule switched off even a free that is long done does not count without order.
void opportunistic_rule() {
    for (int rules : {int{kNone}, int{kOpportunistic}}) {
        Stream a, b;
        TestPool pool(rules);
        void *memory = pool.take(a);
        void *rest = pool.take(a, TestPool::kLimit - kBytes);
        OK(infinirtStreamSynchronize(a));
        OK(infinirtFreeAsync(memory, a));
        Latch latch;
        OK(infinirtLaunchHostFunc(a, Latch::hold, &latch));  // after the free: irrelevant
        CHECK_EQ(pool.gets(b, memory), rules == kOpportunistic);
        latch.open();
        OK(infinirtFreeAsync(rest, a));
        OK(infinirtStreamSynchronize(a));
    }
}

void event_dependencies() {
    for (int rules : {int{kNone}, int{kFollow}}) {
        Stream a, b, c;
        Event early, late, chained;
        TestPool pool(rules);
        FreedBehindLatch freed(pool, a);
        // An event from before the free does not order anything after it.
        OK(infinirtEventRecord(early, c));
        OK(infinirtStreamWaitEvent(b, early, 0));
        CHECK(!pool.gets(b, freed.memory));
        // a -> c -> b.
        OK(infinirtEventRecord(late, a));
        OK(infinirtStreamWaitEvent(c, late, 0));
        OK(infinirtEventRecord(chained, c));
        CHECK(!pool.gets(b, freed.memory));
        OK(infinirtStreamWaitEvent(b, chained, 0));
        CHECK_EQ(pool.gets(b, freed.memory), rules == kFollow);
    }
}

void event_recorded_before_the_free() {
    Stream a, b;
    Event event;
    TestPool pool(kFollow);
    void *memory = pool.take(a), *rest = pool.take(a, TestPool::kLimit - kBytes);
    Latch latch;
    OK(infinirtLaunchHostFunc(a, Latch::hold, &latch));
    OK(infinirtEventRecord(event, a));
    OK(infinirtStreamWaitEvent(b, event, 0));
    OK(infinirtMemsetAsync(memory, 0, kBytes, a));
    OK(infinirtFreeAsync(memory, a));
    CHECK(!pool.gets(b, memory));
    latch.open();
    OK(infinirtFreeAsync(rest, a));
    OK(infinirtStreamSynchronize(b));
}

// If the device has no more memory, the allocating stream is made to wait for the free.
void internal_dependencies() {
    for (int rules : {int{kNone}, int{kInternal}}) {
        Stream a, b;
        TestPool pool(rules);
        FreedBehindLatch freed(pool, a);
        void *memory;
        if (rules == kNone) {
            FAILS(infinirtMallocFromPoolAsync(&memory, kBytes, pool.pool, b),
                  infinirtErrorMemoryAllocation);
            continue;
        }
        CHECK(pool.take(b) == freed.memory);
        std::atomic<bool> ran{false};
        OK(infinirtLaunchHostFunc(
            b, [](void *flag) { static_cast<std::atomic<bool> *>(flag)->store(true); }, &ran));
        give_time();
        FAILS(infinirtStreamQuery(b), infinirtErrorNotReady);
        CHECK(!ran.load());
        freed.open();
        OK(infinirtStreamSynchronize(b));
        CHECK(ran.load());
        OK(infinirtFreeAsync(freed.memory, b));
    }
}

// The null stream and blocking streams are ordered with each other; non-blocking streams are not.
void null_stream_rules() {
    Stream blocking(infinirtStreamDefault), other(infinirtStreamDefault), apart;
    {
        TestPool pool(kFollow);
        FreedBehindLatch freed(pool, blocking);
        CHECK(!pool.gets(apart, freed.memory));
        CHECK(!pool.gets(other, freed.memory));
        CHECK(pool.gets(nullptr, freed.memory));
    }
    {
        TestPool pool(kFollow);
        FreedBehindLatch freed(pool, blocking);
        OK(infinirtMemsetAsync(freed.rest, 0, 1, nullptr));  // work after the free
        CHECK(pool.gets(other, freed.memory));
    }
    {
        // A free in the null stream counts as work there, whatever the pool.
        TestPool pool(kFollow), another(kNone);
        void *small = another.take(nullptr);
        FreedBehindLatch freed(pool, blocking);
        CHECK(!pool.gets(other, freed.memory));
        OK(infinirtFreeAsync(small, nullptr));
        CHECK(pool.take(other) == freed.memory);
        OK(infinirtMemsetAsync(freed.memory, 0, kBytes, other));
        give_time();
        FAILS(infinirtStreamQuery(other), infinirtErrorNotReady);  // it does follow the latch
        freed.open();
        OK(infinirtStreamSynchronize(other));
        OK(infinirtFree(freed.memory));
    }
    {
        TestPool pool(kFollow | kOpportunistic);
        void *memory = pool.take(nullptr), *rest = pool.take(nullptr, TestPool::kLimit - kBytes);
        Latch latch;
        OK(infinirtLaunchHostFunc(blocking, Latch::hold, &latch));
        OK(infinirtFreeAsync(memory, nullptr));  // follows the blocking stream's latch
        CHECK(!pool.gets(apart, memory));
        CHECK(pool.take(other) == memory);
        // So does whatever that stream does next.
        OK(infinirtMemsetAsync(memory, 0, kBytes, other));
        give_time();
        FAILS(infinirtStreamQuery(other), infinirtErrorNotReady);
        latch.open();
        OK(infinirtStreamSynchronize(other));
        OK(infinirtFree(memory));
        OK(infinirtFree(rest));
    }
    {
        // Work in the null stream may use memory that a blocking stream then frees, without any
        // event.
        TestPool pool(kOpportunistic);
        void *memory = pool.take(nullptr),
             *rest = pool.take(nullptr, TestPool::kLimit - 2 * kBytes);
        OK(infinirtFreeAsync(pool.take(blocking), blocking));
        Latch latch;
        OK(infinirtLaunchHostFunc(nullptr, Latch::hold, &latch));
        OK(infinirtFreeAsync(memory, blocking));
        CHECK(!pool.gets(apart, memory));
        latch.open();
        OK(infinirtDeviceSynchronize());
        CHECK(pool.gets(apart, memory));
        OK(infinirtFree(rest));
    }
}

// A free after a wait is not done before the awaited work, even if nothing else was submitted to
// the stream.
void free_behind_a_wait() {
    Stream a, b, c;
    Event event;
    TestPool pool(kOpportunistic);
    void *memory = pool.take(b), *rest = pool.take(b, TestPool::kLimit - 2 * kBytes);
    OK(infinirtFreeAsync(pool.take(b), b));  // done immediately
    Latch latch;
    OK(infinirtLaunchHostFunc(a, Latch::hold, &latch));
    OK(infinirtMemsetAsync(memory, 0, kBytes, a));
    OK(infinirtEventRecord(event, a));
    OK(infinirtStreamWaitEvent(b, event, 0));
    OK(infinirtFreeAsync(memory, b));
    CHECK(!pool.gets(c, memory));
    latch.open();
    OK(infinirtDeviceSynchronize());
    OK(infinirtFree(rest));
}

// Memory freed in a destroyed stream is not lost, and not reused too early.
void destroyed_stream() {
    Stream a, b;
    TestPool pool(kFollow | kOpportunistic);
    void *memory = pool.take(a);
    void *rest = pool.take(a, TestPool::kLimit - kBytes);
    Latch latch;
    OK(infinirtLaunchHostFunc(a, Latch::hold, &latch));
    OK(infinirtFreeAsync(memory, a));
    OK(infinirtStreamDestroy(a));
    a.handle = nullptr;
    void *again;
    FAILS(infinirtMallocFromPoolAsync(&again, kBytes, pool.pool, b), infinirtErrorMemoryAllocation);
    latch.open();
    OK(infinirtDeviceSynchronize());
    CHECK(pool.take(b) == memory);
    OK(infinirtFree(memory));
    OK(infinirtFree(rest));
}

}  // namespace

int main() {
    RUN(same_stream);
    RUN(other_stream_waits_for_completion);
    RUN(opportunistic_rule);
    RUN(event_dependencies);
    RUN(event_recorded_before_the_free);
    RUN(internal_dependencies);
    RUN(null_stream_rules);
    RUN(free_behind_a_wait);
    RUN(destroyed_stream);
    std::puts("ok");
}
