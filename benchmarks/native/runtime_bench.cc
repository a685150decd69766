// Timed loops for benchmarks/runtime.py: the runtime and its competitors, alternating in one
// process.
//
// Loops that are compared alternate in short rounds, so that noise of the machine affects all of
// them. The result is the best round of each, in nanoseconds per operation.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "infini/ext.h"
#include "infinirt_runtime_api.h"

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const char *expression) {
    std::fprintf(stderr, "%s: %s\n", expression, infiniGetLastErrorMessage());
    std::abort();
}
#define OK(call) (void)((call) == infinirtSuccess || (die(#call), 0))

template <class F>
double nanoseconds(long repeats, F &&operation) {
    auto begin = Clock::now();
    for (long i = 0; i < repeats; ++i) operation();
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / repeats;
}

// Alternates between both and keeps the best round of each.
template <class Ours, class Theirs>
void duel(int rounds, long repeats, Ours &&ours, Theirs &&theirs, double *result) {
    result[0] = result[1] = 1e30;
    for (int round = 0; round < rounds; ++round) {
        result[0] = std::min(result[0], nanoseconds(repeats, ours));
        result[1] = std::min(result[1], nanoseconds(repeats, theirs));
    }
}

// Nanoseconds of a repetition when all threads call body(thread) `repeats` times. They start together
// and do not wait for each other in between: no copy that is split over threads can be faster.
template <class Body>
double together(int threads, long repeats, Body &&body) {
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread)
        others.emplace_back([&, thread] {
            ++ready;
            while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
            for (long i = 0; i < repeats; ++i) body(thread);
        });
    while (ready.load() + 1 < threads) std::this_thread::yield();
    auto begin = Clock::now();
    go.store(true, std::memory_order_release);
    for (long i = 0; i < repeats; ++i) body(0);
    for (auto &other : others) other.join();
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / repeats;
}

// A copy with stores that bypass the caches, where the processor has them.
void stream_copy(char *to, const char *from, size_t bytes) {
#ifdef __SSE2__
    size_t whole = bytes / 64 * 64;
    for (size_t i = 0; i < whole; i += 16)
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                         _mm_load_si128(reinterpret_cast<const __m128i *>(from + i)));
    _mm_sfence();
    std::memcpy(to + whole, from + whole, bytes - whole);
#else
    std::memcpy(to, from, bytes);
#endif
}

// Keeps the compiler from removing a copy or an allocation whose result is not read.
void keep(const void *pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

void set_flag(void *flag) {
    static_cast<std::atomic<int> *>(flag)->store(1, std::memory_order_release);
}

void spin_until_set(std::atomic<int> &flag) {
    while (!flag.load(std::memory_order_acquire)) std::this_thread::yield();
    flag.store(0, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

// Memcpy against the host's own copies, on the same buffers, which the caller has touched: memcpy
// in one thread, and the fastest of memcpy and non-temporal stores in one and in all threads.
// result: ours, memcpy, the fastest; then 1 when our copy was right.
void bench_copy(void *dst, void *src, size_t bytes, int threads, int rounds, long repeats,
                double *result) {
    auto *to = static_cast<char *>(dst);
    auto *from = static_cast<char *>(src);
    std::memset(to, 0, bytes);
    OK(infinirtMemcpy(to, from, bytes, infinirtMemcpyDeviceToDevice));
    result[3] = std::memcmp(to, from, bytes) == 0;
    result[0] = result[1] = result[2] = 1e30;
    auto keep_best = [&](int index, double time) { result[index] = std::min(result[index], time); };
    size_t share = bytes / threads / 64 * 64;  // the last thread copies the rest, too
    auto in_all_threads = [&](auto &&copy) {
        return together(threads, repeats, [&](int thread) {
            size_t begin = share * thread;
            copy(to + begin, from + begin, thread + 1 == threads ? bytes - begin : share);
        });
    };
    auto plain = [](char *a, const char *b, size_t size) {
        std::memcpy(a, b, size);
        keep(a);
    };
    for (int round = 0; round < rounds; ++round) {
        keep_best(0, nanoseconds(repeats, [&] {
                      OK(infinirtMemcpy(to, from, bytes, infinirtMemcpyDeviceToDevice));
                  }));
        keep_best(1, nanoseconds(repeats, [&] { plain(to, from, bytes); }));
        keep_best(2, nanoseconds(repeats, [&] { stream_copy(to, from, bytes); }));
        if (threads > 1 && share > 0) {
            keep_best(2, in_all_threads(plain));
            keep_best(2, in_all_threads(stream_copy));
        }
    }
    result[2] = std::min(result[1], result[2]);
}

// MallocAsync + FreeAsync against malloc + free; with `touch` the first byte of each page is
// written.
void bench_allocate(size_t bytes, int touch, int rounds, long repeats, double *result) {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    auto write = [&](void *memory) {
        if (!touch) return keep(memory);
        for (size_t at = 0; at < bytes; at += 4096) static_cast<volatile char *>(memory)[at] = 1;
    };
    duel(
        rounds, repeats,
        [&] {
            void *memory;
            OK(infinirtMallocAsync(&memory, bytes, stream));
            write(memory);
            OK(infinirtFreeAsync(memory, stream));
        },
        [&] {
            void *memory = std::malloc(bytes);
            write(memory);
            std::free(memory);
        },
        result);
    OK(infinirtStreamDestroy(stream));
}

// EventRecord + EventQuery on an idle stream against two readings of the clock.
void bench_event(int rounds, long repeats, double *result) {
    infinirtStream_t stream;
    infinirtEvent_t event;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    OK(infinirtEventCreate(&event));
    duel(
        rounds, repeats,
        [&] {
            OK(infinirtEventRecord(event, stream));
            OK(infinirtEventQuery(event));
        },
        [&] {
            auto a = Clock::now();
            auto b = Clock::now();
            asm volatile("" : : "r"(&a), "r"(&b) : "memory");
        },
        result);
    OK(infinirtEventDestroy(event));
    OK(infinirtStreamDestroy(stream));
}

// From LaunchHostFunc until the function has run, against a thread woken by a condition variable.
void bench_latency(int rounds, long repeats, double *result) {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    std::atomic<int> done{0};
    std::mutex mutex;
    std::condition_variable wake;
    bool work = false, stop = false;
    std::thread worker([&] {
        std::unique_lock lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return work || stop; });
            if (stop) return;
            work = false;
            done.store(1, std::memory_order_release);
        }
    });
    duel(
        rounds, repeats,
        [&] {
            OK(infinirtLaunchHostFunc(stream, set_flag, &done));
            spin_until_set(done);
        },
        [&] {
            {
                std::lock_guard lock(mutex);
                work = true;
            }
            wake.notify_one();
            spin_until_set(done);
        },
        result);
    {
        std::lock_guard lock(mutex);
        stop = true;
    }
    wake.notify_one();
    worker.join();
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtStreamDestroy(stream));
}

// A chain of small copies: launched as a graph, against the same copies submitted one by one. Per
// node.
void bench_graph(int nodes, int rounds, long repeats, double *result) {
    infinirtStream_t stream;
    infinirtGraph_t graph;
    infinirtGraphExec_t exec;
    void *memory;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    OK(infinirtMalloc(&memory, 4096));
    OK(infinirtMemset(memory, 1, 4096));
    auto submit = [&] {
        for (int i = 0; i < nodes; ++i)
            OK(infinirtMemcpyAsync(memory, static_cast<char *>(memory) + 64 + i % 32 * 64, 64,
                                   infinirtMemcpyDeviceToDevice, stream));
    };
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeThreadLocal));
    submit();
    OK(infinirtStreamEndCapture(stream, &graph));
    OK(infinirtGraphInstantiate(&exec, graph, 0));
    duel(
        rounds, repeats,
        [&] {
            OK(infinirtGraphLaunch(exec, stream));
            OK(infinirtStreamSynchronize(stream));
        },
        [&] {
            submit();
            OK(infinirtStreamSynchronize(stream));
        },
        result);
    result[0] /= nodes;
    result[1] /= nodes;
    OK(infinirtGraphExecDestroy(exec));
    OK(infinirtGraphDestroy(graph));
    OK(infinirtFree(memory));
    OK(infinirtStreamDestroy(stream));
}

// Copies of `bytes` on two streams concurrently against one after the other on one stream.
void bench_overlap(size_t bytes, int rounds, double *result) {
    infinirtStream_t a, b;
    OK(infinirtStreamCreateWithFlags(&a, infinirtStreamNonBlocking));
    OK(infinirtStreamCreateWithFlags(&b, infinirtStreamNonBlocking));
    void *memory[4];
    for (void *&one : memory) {
        OK(infinirtMalloc(&one, bytes));
        OK(infinirtMemset(one, 1, bytes));
    }
    auto copy = [&](int i, infinirtStream_t stream) {
        OK(infinirtMemcpyAsync(memory[i], memory[i + 1], bytes, infinirtMemcpyDeviceToDevice,
                               stream));
    };
    duel(
        rounds, 1,
        [&] {
            copy(0, a);
            copy(2, b);
            OK(infinirtStreamSynchronize(a));
            OK(infinirtStreamSynchronize(b));
        },
        [&] {
            copy(0, a);
            copy(2, a);
            OK(infinirtStreamSynchronize(a));
        },
        result);
    for (void *one : memory) OK(infinirtFree(one));
    OK(infinirtStreamDestroy(a));
    OK(infinirtStreamDestroy(b));
}

}  // extern "C"
