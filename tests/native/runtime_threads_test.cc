// The runtime from many threads at once, without an interpreter's lock between them: streams,
// copies, allocations, pools. The rest of the API is tested by tests/runtime, which the sanitizers
// see as well (cmake/NativeTests.cmake).
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "seed.h"

namespace {

void on_threads(int count, auto work) {
    std::vector<std::thread> threads;
    for (int id = 0; id < count; ++id) threads.emplace_back(work, id);
    for (std::thread &thread : threads) thread.join();
}

infinirtStream_t make_stream(unsigned flags = infinirtStreamNonBlocking) {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, flags));
    return stream;
}

void add_one(void *counter) { static_cast<std::atomic<int> *>(counter)->fetch_add(1); }

void streams_and_events() {
    std::atomic<int> count{0};
    on_threads(64, [&](int id) {
        infinirtStream_t a = make_stream(), b = make_stream(unsigned(id % 2 == 0));
        infinirtEvent_t event;
        OK(infinirtEventCreateWithFlags(&event, infinirtEventDisableTiming));
        for (int i = 0; i < 20; ++i) {
            OK(infinirtLaunchHostFunc(a, add_one, &count));
            OK(infinirtEventRecord(event, a));
            OK(infinirtStreamWaitEvent(b, event, 0));
            OK(infinirtLaunchHostFunc(b, add_one, &count));
        }
        OK(infinirtStreamSynchronize(b));
        OK(infinirtStreamWaitEvent(infinirtStreamPerThread, event, 0));
        OK(infinirtLaunchHostFunc(infinirtStreamPerThread, add_one, &count));
        OK(infinirtStreamSynchronize(infinirtStreamPerThread));
        OK(infinirtEventDestroy(event));
        for (infinirtStream_t stream : {a, b}) OK(infinirtStreamDestroy(stream));
    });
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(count.load(), 64 * 41);
}

void copies() {
    constexpr size_t kBytes = 4096;
    void *shared;
    OK(infinirtMalloc(&shared, 64 * kBytes));
    on_threads(64, [&](int id) {
        infinirtStream_t stream = make_stream();
        char *place = static_cast<char *>(shared) + size_t(id) * kBytes;
        for (int round = 0; round < 30; ++round) {
            std::vector<char> mine(kBytes, char(id + round)), back(kBytes);
            if (round % 2) {
                OK(infinirtMemcpy(place, mine.data(), kBytes, infinirtMemcpyHostToDevice));
            } else {
                OK(infinirtMemcpyAsync(place, mine.data(), kBytes, infinirtMemcpyDefault, stream));
                OK(infinirtStreamSynchronize(stream));
            }
            OK(infinirtMemcpy(back.data(), place, kBytes, infinirtMemcpyDeviceToHost));
            CHECK(back == mine);
        }
        OK(infinirtStreamDestroy(stream));
    });
    OK(infinirtFree(shared));
}

void allocations() {
    on_threads(64, [](int id) {
        for (int round = 0; round < 40; ++round) {
            void *device, *pinned;
            size_t bytes = 64 + static_cast<size_t>(id * 37 + round * 11) % 5000;
            OK(infinirtMalloc(&device, bytes));
            OK(infinirtMallocHost(&pinned, bytes));
            OK(infinirtMemset(device, id, bytes));
            OK(infinirtMemcpy(pinned, device, bytes, infinirtMemcpyDefault));
            CHECK_EQ(static_cast<unsigned char *>(pinned)[bytes - 1], id);
            OK(infinirtFreeHost(pinned));
            OK(infinirtFree(device));
        }
    });
}

// Of many threads that free the same memory one succeeds.
void racing_frees() {
    std::vector<void *> shared(200);
    for (void *&memory : shared) OK(infinirtMalloc(&memory, 128));
    std::atomic<size_t> freed{0};
    on_threads(16, [&](int) {
        for (void *memory : shared)
            if (infinirtFree(memory) == infinirtSuccess) freed.fetch_add(1);
    });
    CHECK_EQ(freed.load(), shared.size());
}

uint64_t attribute(infinirtMemPool_t pool, infinirtMemPoolAttr which) {
    uint64_t value = 0;
    OK(infinirtMemPoolGetAttribute(pool, which, &value));
    return value;
}

// Every thread fills what it gets and finds it unchanged later: no byte belongs to two allocations.
void pools() {
    infinirtMemPoolProps properties{};
    properties.allocType = infinirtMemAllocationTypePinned;
    properties.location = {infinirtMemLocationTypeDevice, 0};
    infinirtMemPool_t pool;
    OK(infinirtMemPoolCreate(&pool, &properties));
    on_threads(64, [&](int id) {
        std::mt19937 random = random_numbers(uint32_t(id));
        infinirtStream_t stream = id % 4 ? make_stream(unsigned(id % 2)) : nullptr;
        struct Held {
            void *memory;
            size_t bytes;
        };
        std::vector<Held> held;
        for (int round = 0; round < 60; ++round) {
            if (held.size() < 8 && random() % 3) {
                Held made{nullptr, 1 + random() % (random() % 8 ? 20000 : 300000)};
                OK(infinirtMallocFromPoolAsync(&made.memory, made.bytes, pool, stream));
                OK(infinirtMemsetAsync(made.memory, id, made.bytes, stream));
                held.push_back(made);
            } else if (!held.empty()) {
                Held last = held[random() % held.size()];
                std::erase_if(held, [&](Held &one) { return one.memory == last.memory; });
                std::vector<char> back(last.bytes);
                OK(infinirtMemcpyAsync(back.data(), last.memory, last.bytes, infinirtMemcpyDefault,
                                       stream));
                OK(infinirtFreeAsync(last.memory, stream));
                OK(infinirtStreamSynchronize(stream));
                for (char byte : back) CHECK_EQ(byte, id);
            }
        }
        for (Held &one : held) OK(infinirtFreeAsync(one.memory, stream));
        if (stream) OK(infinirtStreamDestroy(stream));
    });
    OK(infinirtDeviceSynchronize());
    CHECK_EQ(attribute(pool, infinirtMemPoolAttrUsedMemCurrent), 0);
    CHECK_EQ(attribute(pool, infinirtMemPoolAttrReservedMemCurrent), 0);
    OK(infinirtMemPoolDestroy(pool));
}

}  // namespace

int main() {
    RUN(streams_and_events);
    RUN(copies);
    RUN(allocations);
    RUN(racing_frees);
    RUN(pools);
    std::puts("ok");
}
