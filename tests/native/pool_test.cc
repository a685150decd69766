// Memory pools: accounting, limits, lifetime, bad calls. When memory is reused: pool_reuse_test.cc.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "seed.h"

namespace {

constexpr auto kInvalid = infinirtErrorInvalidValue;
constexpr uint64_t kMiB = 1 << 20;

infinirtMemPool_t make_pool(size_t max_bytes = 0) {
    infinirtMemPoolProps properties{};
    properties.allocType = infinirtMemAllocationTypePinned;
    properties.location = {infinirtMemLocationTypeDevice, 0};
    properties.maxSize = max_bytes;
    infinirtMemPool_t pool;
    OK(infinirtMemPoolCreate(&pool, &properties));
    return pool;
}

uint64_t get(infinirtMemPool_t pool, infinirtMemPoolAttr attribute) {
    uint64_t value = 0;
    OK(infinirtMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

void set(infinirtMemPool_t pool, infinirtMemPoolAttr attribute, uint64_t value) {
    OK(infinirtMemPoolSetAttribute(pool, attribute, &value));
}

uint64_t used(infinirtMemPool_t pool) { return get(pool, infinirtMemPoolAttrUsedMemCurrent); }
uint64_t reserved(infinirtMemPool_t pool) {
    return get(pool, infinirtMemPoolAttrReservedMemCurrent);
}

char *allocate(infinirtMemPool_t pool, size_t bytes, infinirtStream_t stream = nullptr) {
    void *memory = nullptr;
    OK(infinirtMallocFromPoolAsync(&memory, bytes, pool, stream));
    return static_cast<char *>(memory);
}

void accounting() {
    infinirtMemPool_t pool = make_pool();
    CHECK_EQ(used(pool) + reserved(pool), 0);
    char *a = allocate(pool, 1), *b = allocate(pool, 3 * kMiB), *c = allocate(pool, 513);
    CHECK_EQ(reinterpret_cast<uintptr_t>(a) % 256, 0);
    CHECK_EQ(used(pool), 1 + 3 * kMiB + 513);
    CHECK(reserved(pool) >= used(pool));
    uint64_t most = reserved(pool);
    OK(infinirtMemset(b, 1, 3 * kMiB));
    for (char *memory : {a, b, c}) OK(infinirtFreeAsync(memory, nullptr));
    CHECK_EQ(used(pool), 0);
    CHECK_EQ(get(pool, infinirtMemPoolAttrUsedMemHigh), 1 + 3 * kMiB + 513);
    set(pool, infinirtMemPoolAttrUsedMemHigh, 0);
    CHECK_EQ(get(pool, infinirtMemPoolAttrUsedMemHigh), 0);

    // The threshold is 0: a synchronisation frees everything.
    OK(infinirtStreamSynchronize(nullptr));
    CHECK_EQ(reserved(pool), 0);
    CHECK_EQ(get(pool, infinirtMemPoolAttrReservedMemHigh), most);
    set(pool, infinirtMemPoolAttrReservedMemHigh, 0);
    CHECK_EQ(get(pool, infinirtMemPoolAttrReservedMemHigh), 0);
    OK(infinirtMemPoolDestroy(pool));
}

void thresholds_and_trims() {
    infinirtMemPool_t pool = make_pool();
    set(pool, infinirtMemPoolAttrReleaseThreshold, 8 * kMiB);
    std::vector<char *> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(allocate(pool, 2 * kMiB));
    CHECK_EQ(reserved(pool), 16 * kMiB);
    for (char *memory : blocks) OK(infinirtFreeAsync(memory, nullptr));
    CHECK_EQ(reserved(pool), 16 * kMiB);
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(reserved(pool), 8 * kMiB);
    OK(infinirtMemPoolTrimTo(pool, 3 * kMiB));
    CHECK_EQ(reserved(pool), 4 * kMiB);
    char *kept = allocate(pool, 100);
    OK(infinirtMemPoolTrimTo(pool, 0));
    CHECK_EQ(reserved(pool), 2 * kMiB);
    OK(infinirtFreeAsync(kept, nullptr));
    OK(infinirtMemPoolTrimTo(pool, 0));
    CHECK_EQ(reserved(pool), 0);
    OK(infinirtMemPoolDestroy(pool));
}

// Free neighbours become one block again, in whatever order they were freed.
void neighbours_join() {
    infinirtMemPool_t pool = make_pool(2 * kMiB);
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    std::mt19937 random = random_numbers();
    for (int round = 0; round < 5; ++round) {
        std::vector<char *> blocks;
        for (int i = 0; i < 4096; ++i) blocks.push_back(allocate(pool, 512, stream));
        void *more;
        FAILS(infinirtMallocFromPoolAsync(&more, 1, pool, stream), infinirtErrorMemoryAllocation);
        std::shuffle(blocks.begin(), blocks.end(), random);
        for (char *memory : blocks) OK(infinirtFreeAsync(memory, stream));
        char *all = allocate(pool, 2 * kMiB, stream);
        CHECK_EQ(reserved(pool), 2 * kMiB);
        OK(infinirtFreeAsync(all, stream));
    }
    OK(infinirtStreamDestroy(stream));
    OK(infinirtMemPoolDestroy(pool));
}

void limits() {
    infinirtMemPool_t pool = make_pool(5 * kMiB);
    char *a = allocate(pool, 4 * kMiB);
    void *memory;
    FAILS(infinirtMallocFromPoolAsync(&memory, 2 * kMiB, pool, nullptr),
          infinirtErrorMemoryAllocation);
    char *b = allocate(pool, kMiB);
    OK(infinirtFreeAsync(a, nullptr));
    OK(infinirtFreeAsync(b, nullptr));
    // Both chunks are too small, so they are freed for a larger one.
    a = allocate(pool, 5 * kMiB);
    OK(infinirtFreeAsync(a, nullptr));
    OK(infinirtMemPoolDestroy(pool));
}

void default_and_current_pool() {
    infinirtMemPool_t standard, current, own = make_pool();
    OK(infinirtDeviceGetDefaultMemPool(&standard, 0));
    OK(infinirtDeviceGetMemPool(&current, 0));
    CHECK(current == standard);
    OK(infinirtDeviceSetMemPool(0, own));
    OK(infinirtDeviceGetMemPool(&current, 0));
    CHECK(current == own);
    void *memory;
    OK(infinirtMallocAsync(&memory, 100, nullptr));
    CHECK_EQ(used(own), 100);

    // Destroying lets live memory live, and the default pool becomes current again.
    OK(infinirtMemPoolDestroy(own));
    OK(infinirtDeviceGetMemPool(&current, 0));
    CHECK(current == standard);
    FAILS(infinirtMemPoolDestroy(own), kInvalid);
    uint64_t value;
    FAILS(infinirtMemPoolGetAttribute(own, infinirtMemPoolAttrUsedMemCurrent, &value), kInvalid);
    OK(infinirtMemset(memory, 1, 100));
    OK(infinirtFreeAsync(memory, nullptr));
    OK(infinirtStreamSynchronize(nullptr));
    FAILS(infinirtMemset(memory, 1, 100), kInvalid);
    FAILS(infinirtMemPoolDestroy(standard), kInvalid);
}

void mixed_allocation_and_free() {
    infinirtMemPool_t pool = make_pool();
    char *memory = allocate(pool, 4096);
    OK(infinirtFree(memory));  // memory of a pool
    CHECK_EQ(used(pool), 0);
    FAILS(infinirtFree(memory), kInvalid);

    // Memory of Malloc is freed when the stream gets there.
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    void *plain, *pinned;
    OK(infinirtMalloc(&plain, 4096));
    OK(infinirtMallocHost(&pinned, 4096));
    memset(pinned, 0, 4096);
    OK(infinirtMemset(plain, 7, 4096));
    OK(infinirtStreamSynchronize(nullptr));
    Latch latch;
    OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
    OK(infinirtMemcpyAsync(pinned, plain, 4096, infinirtMemcpyDeviceToHost, stream));
    OK(infinirtFreeAsync(plain, stream));
    FAILS(infinirtFreeAsync(plain, stream), kInvalid);
    FAILS(infinirtMemset(plain, 0, 1), kInvalid);
    latch.open();
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(static_cast<char *>(pinned)[4095], 7);
    FAILS(infinirtFreeAsync(pinned, stream), kInvalid);
    OK(infinirtFreeHost(pinned));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtMemPoolDestroy(pool));
}

void bad_calls() {
    infinirtMemPool_t pool = make_pool();
    void *memory = &pool;
    OK(infinirtMallocAsync(&memory, 0, nullptr));
    CHECK(!memory);
    OK(infinirtFreeAsync(nullptr, nullptr));
    char *block = allocate(pool, 2000);
    for (void *wrong : {static_cast<void *>(block + 1), static_cast<void *>(block + 512),
                        reinterpret_cast<void *>(0x40), static_cast<void *>(&pool),
                        static_cast<void *>(block + kMiB)})
        FAILS(infinirtFreeAsync(wrong, nullptr), kInvalid);
    OK(infinirtFreeAsync(block, nullptr));
    FAILS(infinirtFreeAsync(block, nullptr), kInvalid);

    auto attribute = static_cast<infinirtMemPoolAttr>(99);
    uint64_t value = 5;
    FAILS(infinirtMemPoolGetAttribute(pool, attribute, &value), kInvalid);
    FAILS(infinirtMemPoolSetAttribute(pool, attribute, &value), kInvalid);
    for (auto readable : {infinirtMemPoolAttrUsedMemHigh, infinirtMemPoolAttrReservedMemHigh,
                          infinirtMemPoolAttrUsedMemCurrent})
        FAILS(infinirtMemPoolSetAttribute(pool, readable, &value), kInvalid);
    FAILS(infinirtMemPoolGetAttribute(pool, infinirtMemPoolAttrUsedMemHigh, nullptr), kInvalid);
    FAILS(infinirtMallocFromPoolAsync(&memory, 8, nullptr, nullptr), kInvalid);
    FAILS(infinirtMallocFromPoolAsync(&memory, SIZE_MAX, pool, nullptr),
          infinirtErrorMemoryAllocation);

    infinirtMemLocation here{infinirtMemLocationTypeDevice, 0};
    infinirtMemAccessFlags flags;
    OK(infinirtMemPoolGetAccess(&flags, pool, &here));
    CHECK_EQ(flags, infinirtMemAccessFlagsProtReadWrite);
    infinirtMemAccessDesc access{here, infinirtMemAccessFlagsProtNone};
    FAILS(infinirtMemPoolSetAccess(pool, &access, 1), infinirtErrorInvalidDevice);
    access.location.id = 99;
    FAILS(infinirtMemPoolSetAccess(pool, &access, 1), infinirtErrorInvalidDevice);
    OK(infinirtMemPoolDestroy(pool));

    infinirtMemPoolProps properties{};
    FAILS(infinirtMemPoolCreate(&pool, &properties), kInvalid);
    properties.allocType = infinirtMemAllocationTypePinned;
    FAILS(infinirtMemPoolCreate(&pool, &properties), kInvalid);
    properties.location = {infinirtMemLocationTypeDevice, 99};
    FAILS(infinirtMemPoolCreate(&pool, &properties), kInvalid);
    properties.location.id = 0;
    properties.handleTypes = infinirtMemHandleTypePosixFileDescriptor;
    FAILS(infinirtMemPoolCreate(&pool, &properties), infinirtErrorNotSupported);
    FAILS(infinirtDeviceGetDefaultMemPool(&pool, 99), infinirtErrorInvalidDevice);
}

void captured_allocation() {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    void *memory, *pinned;
    OK(infinirtMallocHost(&pinned, 64));
    infinirtGraph_t graph;
    infinirtGraphExec_t exec;
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    OK(infinirtMallocAsync(&memory, 64, stream));
    OK(infinirtMemsetAsync(memory, 6, 64, stream));
    OK(infinirtMemcpyAsync(pinned, memory, 64, infinirtMemcpyDefault, stream));
    OK(infinirtFreeAsync(memory, stream));
    OK(infinirtStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    OK(infinirtGraphGetNodes(graph, nullptr, &nodes));
    CHECK_EQ(nodes, 4);
    OK(infinirtGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) {
        memset(pinned, 0, 64);
        OK(infinirtGraphLaunch(exec, stream));
        OK(infinirtStreamSynchronize(stream));
        CHECK_EQ(static_cast<char *>(pinned)[63], 6);
    }
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtFreeHost(pinned));
    OK(infinirtStreamDestroy(stream));
}

// Every thread fills what it gets and finds it unchanged later: no byte belongs to two allocations.
void many_threads() {
    infinirtMemPool_t pool = make_pool();
    std::vector<std::thread> threads;
    for (int id = 0; id < 64; ++id)
        threads.emplace_back([&, id] {
            std::mt19937 random = random_numbers(uint32_t(id));
            infinirtStream_t stream = nullptr;
            if (id % 4) OK(infinirtStreamCreateWithFlags(&stream, id % 2));
            struct Held {
                char *memory;
                size_t bytes;
            };
            std::vector<Held> held;
            for (int round = 0; round < 60; ++round) {
                if (held.size() < 8 && random() % 3) {
                    size_t bytes = 1 + random() % (random() % 8 ? 20000 : 300000);
                    held.push_back({allocate(pool, bytes, stream), bytes});
                    OK(infinirtMemsetAsync(held.back().memory, id, bytes, stream));
                } else if (!held.empty()) {
                    Held last = held[random() % held.size()];
                    std::erase_if(held, [&](Held &one) { return one.memory == last.memory; });
                    std::vector<char> back(last.bytes);
                    OK(infinirtMemcpyAsync(back.data(), last.memory, last.bytes,
                                           infinirtMemcpyDefault, stream));
                    OK(infinirtFreeAsync(last.memory, stream));
                    OK(infinirtStreamSynchronize(stream));
                    for (char byte : back) CHECK_EQ(byte, id);
                }
            }
            for (Held &one : held) OK(infinirtFreeAsync(one.memory, stream));
            if (stream) OK(infinirtStreamDestroy(stream));
        });
    for (std::thread &thread : threads) thread.join();
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(used(pool), 0);
    CHECK_EQ(reserved(pool), 0);
    OK(infinirtMemPoolDestroy(pool));
}

}  // namespace

int main() {
    RUN(accounting);
    RUN(thresholds_and_trims);
    RUN(neighbours_join);
    RUN(limits);
    RUN(default_and_current_pool);
    RUN(mixed_allocation_and_free);
    RUN(bad_calls);
    RUN(captured_allocation);
    RUN(many_threads);
    std::puts("ok");
}
