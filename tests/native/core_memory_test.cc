// The caching allocator: reuse, streams, threads, pinned memory, giving back, running out, forks.
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <set>
#include <thread>

#include "allocator.h"
#include "core_tools.h"
#include "runtime.h"
#include "seed.h"

namespace {

using context::allocateMemory;
using context::memoryStats;
using detail::Allocator;

Allocator &allocator() { return detail::runtime_of(Device::cpu()).allocator; }

context::MemoryStats now() { return memoryStats(Device::cpu()); }

void sizes_and_places() {
    std::vector<std::shared_ptr<Memory>> all;
    std::set<std::pair<uintptr_t, uintptr_t>> taken;
    size_t sum = 0, before = now().allocated;
    for (size_t size = 1; size < (size_t{40} << 20); size += size / 3 + 1) {
        auto memory = allocateMemory(size);
        auto begin = reinterpret_cast<uintptr_t>(memory->data());
        CHECK_EQ(memory->size(), size);
        CHECK_EQ(begin % 64, 0);
        std::memset(memory->data(), int(size), size);
        taken.insert({begin, begin + size});
        all.push_back(memory);
        sum += size;
    }
    uintptr_t last = 0;
    for (auto [begin, end] : taken) {
        CHECK(begin >= last);
        last = end;
    }
    for (auto &memory : all)
        for (size_t i = 0; i < memory->size(); i += 4096)
            CHECK_EQ(int(memory->data()[i]), int(memory->size() & 255));
    CHECK(now().allocated - before >= sum && now().allocated - before < sum + sum / 3);
    CHECK(now().reserved >= now().allocated);
    all.clear();
    CHECK_EQ(now().allocated, before);
    CHECK(!allocateMemory(0)->data());
    THROWS(allocateMemory(SIZE_MAX), "allocateMemory", "expected at most");
}

void reuse() {
    for (size_t size : {1u, 100u, 5000u, 3u << 20, 100u << 20}) {
        auto *first = allocateMemory(size)->data();
        auto before = now();
        for (int i = 0; i < 100; ++i) CHECK(allocateMemory(size)->data() == first);
        CHECK_EQ(now().from_device, before.from_device);
        CHECK_EQ(now().allocations, before.allocations + 100);
        CHECK_EQ(now().reserved, before.reserved);
    }
    context::resetPeakMemoryStats(Device::cpu());
    size_t base = now().allocated;
    {
        auto one = allocateMemory(1 << 20), two = allocateMemory(1 << 20);
    }
    CHECK_EQ(now().peak_allocated, base + (2 << 20));
    CHECK_EQ(now().allocated, base);
}

// Large blocks are split and merged: blocks freed one by one become one block again.
void large_blocks_join() {
    context::trimMemory();
    auto whole = allocateMemory(64 << 20);
    auto *begin = whole->data();
    whole.reset();
    auto before = now().from_device;
    std::vector<std::shared_ptr<Memory>> pieces;
    for (int i = 0; i < 16; ++i) pieces.push_back(allocateMemory(4 << 20));
    for (auto &piece : pieces) CHECK(piece->data() >= begin && piece->data() < begin + (64 << 20));
    for (int i : {3, 1, 2, 15, 0, 14, 7, 9, 8, 6, 5, 4, 10, 12, 13, 11}) pieces[size_t(i)].reset();
    CHECK(allocateMemory(64 << 20)->data() == begin);
    CHECK_EQ(now().from_device, before);
}

void trim() {
    size_t in_use = now().allocated;
    {
        std::vector<std::shared_ptr<Memory>> all;
        for (int i = 0; i < 1000; ++i) all.push_back(allocateMemory(size_t(i) * 37 + 1));
        all.push_back(allocateMemory(30 << 20));
    }
    CHECK(now().reserved > (30 << 20));
    context::trimMemory();
    CHECK_EQ(now().allocated, in_use);
    CHECK(now().reserved < in_use + (1 << 20));
    auto kept = allocateMemory(1000);
    std::memset(kept->data(), 1, 1000);
    context::trimMemory();
    std::memset(kept->data(), 2, 1000);
}

// Another thread's blocks return, also after it ended, and when it frees blocks that it did not
// allocate.
void threads() {
    context::trimMemory();
    size_t in_use = now().allocated;
    std::vector<std::thread> all;
    std::vector<std::shared_ptr<Memory>> shared[4];
    std::mutex locks[4];
    for (unsigned number = 0; number < 4; ++number)
        all.emplace_back([&, number] {
            std::mt19937 random = random_numbers(number);
            for (int i = 0; i < 20000; ++i) {
                size_t size = random() % (i % 100 == 0 ? 4 << 20 : 20000);
                auto memory = allocateMemory(size);
                if (size > 0) memory->data()[0] = memory->data()[size - 1] = std::byte(number);
                unsigned at = random() % 4;
                std::lock_guard lock(locks[at]);
                if (shared[at].size() < 40) {
                    shared[at].push_back(std::move(memory));
                } else {
                    std::swap(shared[at][random() % 40], memory);
                    if (i % 5000 == 7) context::trimMemory();
                }
            }
        });
    for (auto &thread : all) thread.join();
    for (auto &list : shared) list.clear();
    CHECK_EQ(now().allocated, in_use);
    context::trimMemory();
    CHECK(now().reserved < in_use + (1 << 20));
}

// A block that another stream uses is not reused before that work is done.
void other_streams() {
    infinirtStream_t own, other;
    CHECK_EQ(infinirtStreamCreate(&own), 0);
    CHECK_EQ(infinirtStreamCreate(&other), 0);
    Latch latch;
    CHECK_EQ(infinirtLaunchHostFunc(other, Latch::hold, &latch), 0);
    for (size_t size : {1000u, 3u << 20}) {
        auto memory = allocator().allocate(size, own);
        auto *place = memory->data();
        Allocator::record_stream(*memory, other);
        Allocator::record_stream(*memory, other);
        memory.reset();
        std::vector<std::shared_ptr<Memory>> others;
        for (int i = 0; i < 100; ++i) {
            others.push_back(allocator().allocate(size, own));
            CHECK(others.back()->data() != place);
        }
    }
    latch.open();
    CHECK_EQ(infinirtStreamSynchronize(other), 0);
    context::trimMemory();
    CHECK_EQ(infinirtStreamDestroy(own), 0);
    CHECK_EQ(infinirtStreamDestroy(other), 0);
    // Blocks of one stream are not used by another, and destroyed streams do no harm.
    auto mine = allocator().allocate(100, nullptr);
    Allocator::record_stream(*mine, other);
    mine.reset();
    float own_memory = 0;
    Tensor blob = Tensor::from_blob(&own_memory, {1}, DataType::F32, Device::cpu());
    Allocator::record_stream(*blob->memory(), nullptr);
}

// Memory of destroyed streams does not accumulate.
void many_streams() {
    context::trimMemory();
    for (int i = 0; i < 1000; ++i) {
        infinirtStream_t stream;
        CHECK_EQ(infinirtStreamCreate(&stream), 0);
        auto one = allocator().allocate(1000, stream), two = allocator().allocate(50000, stream);
        CHECK_EQ(infinirtStreamDestroy(stream), 0);
    }
    CHECK(now().reserved < (size_t{400} << 20));
    context::trimMemory();
    CHECK(now().reserved < (1 << 20));
}

// Pinned memory that a stream still reads from is not reused.
void pinned() {
    infinirtStream_t stream;
    CHECK_EQ(infinirtStreamCreate(&stream), 0);
    Allocator &pinned = detail::runtime_of(Device::cpu()).pinned;
    Latch latch;
    CHECK_EQ(infinirtLaunchHostFunc(stream, Latch::hold, &latch), 0);
    auto memory = pinned.allocate(1 << 16, stream);
    auto *place = memory->data();
    CHECK(memory->is_pinned());
    memory.reset();
    CHECK(pinned.allocate(1 << 16, stream)->data() != place);
    latch.open();
    CHECK_EQ(infinirtStreamSynchronize(stream), 0);
    pinned.trim();
    CHECK_EQ(pinned.stats().reserved, 0);
    CHECK_EQ(infinirtStreamDestroy(stream), 0);
}

void running_out() {
    auto kept = allocateMemory(1000);
    THROWS(allocateMemory(size_t{1} << 59), "allocateMemory", "no memory for", "CPU:0", "in use",
           "cached");
    CHECK(allocateMemory(1000)->data());
}

// While this thread captures a stream, allocations from the device fail with an error; afterwards
// they succeed.
void during_capture() {
    infinirtStream_t stream;
    context::trimMemory();
    CHECK_EQ(infinirtStreamCreate(&stream), 0);
    CHECK_EQ(infinirtStreamBeginCapture(stream, INFINIRT_STREAM_CAPTURE_MODE_GLOBAL), 0);
    THROWS(allocateMemory(50 << 20), "allocateMemory", "captur");
    infinirtGraph_t graph = nullptr;
    infinirtStreamEndCapture(stream, &graph);
    if (graph) CHECK_EQ(infinirtGraphDestroy(graph), 0);
    CHECK_EQ(infinirtStreamDestroy(stream), 0);
    CHECK(allocateMemory(50 << 20)->data());
}

void forks() {
#ifdef __SANITIZE_ADDRESS__
    constexpr int kThreads = 0;  // AddressSanitizer's own allocator may be left locked in the child
#else
    constexpr int kThreads = 2;
#endif
    std::atomic<bool> stop{false};
    std::vector<std::thread> all;
    for (int i = 0; i < kThreads; ++i)
        all.emplace_back([&] {
            while (!stop)
                for (size_t size : {100u, 70000u, 2u << 20}) {
                    auto one = allocateMemory(size), two = allocateMemory(size);
                    if (size > 100000) context::trimMemory();
                }
        });
    for (int i = 0; i < 20; ++i) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (size_t size : {100u, 70000u, 2u << 20}) {
                auto memory = allocateMemory(size);
                std::memset(memory->data(), 1, size);
            }
            context::trimMemory();
            _exit(0);
        }
        int status = 1;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
    }
    stop = true;
    for (auto &thread : all) thread.join();
}

// A tensor that is freed by a thread's end, after the thread's own blocks were passed on.
void end_of_thread() {
    size_t in_use = now().allocated;
    std::thread([] {
        static thread_local std::shared_ptr<Memory> early;
        early = nullptr;
        static thread_local std::vector<std::shared_ptr<Memory>> late;
        late.push_back(allocateMemory(100));
        late.push_back(allocateMemory(5 << 20));
        early = allocateMemory(200);
    }).join();
    CHECK_EQ(now().allocated, in_use);
}

}  // namespace

int main() {
    RUN(sizes_and_places);
    RUN(reuse);
    RUN(large_blocks_join);
    RUN(trim);
    RUN(threads);
    RUN(other_streams);
    RUN(many_streams);
    RUN(pinned);
    RUN(running_out);
    RUN(during_capture);
    RUN(forks);
    RUN(end_of_thread);
    return 0;
}
