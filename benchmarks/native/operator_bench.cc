// What benchmarks/operators.py needs native code for: the rates that this machine can reach, and
// the cost of calling a tiny plan from C.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "infini/ext.h"
#include "infiniop.h"
#include "infinirt_runtime_api.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

void check(infiniStatus_t status, const char *expression) {
    if (status == INFINI_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s: %s\n", expression, infiniGetLastErrorMessage());
    std::abort();
}
#define OK(call) check(call, #call)

// Calls body(thread) on all threads concurrently; returns the time until the last one is done.
template <class Body>
double together(int threads, const Body &body) {
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> others;
    auto wait = [&](int thread) {
        ++ready;
        while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
        body(thread);
    };
    for (int thread = 1; thread < threads; ++thread) others.emplace_back(wait, thread);
    while (ready.load() + 1 < threads) std::this_thread::yield();
    auto begin = Clock::now();
    go.store(true, std::memory_order_release);
    body(0);
    for (auto &other : others) other.join();
    return seconds_since(begin);
}

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#elif defined(__AVX__)
constexpr int kBytes = 32;
#else
constexpr int kBytes = 16;
#endif
using Floats = float __attribute__((vector_size(kBytes)));
using Words = uint64_t __attribute__((vector_size(kBytes)));
constexpr int kLanes = kBytes / int(sizeof(float));
#ifdef __aarch64__
#define VECTOR_REGISTER "w"
#else
#define VECTOR_REGISTER "v"
#endif

// Keeps the compiler from removing computations without readers.
void keep(const void *pointer) { asm volatile("" : : "r"(pointer) : "memory"); }

template <size_t kAhead>  // prefetch distance in bytes; 0: hardware prefetching only
void read(const char *from, size_t bytes) {
    Words sums[8] = {};
    auto *words = reinterpret_cast<const Words *>(from);
    for (size_t i = 0; i + 8 <= bytes / kBytes; i += 8) {
        if constexpr (kAhead > 0)
            for (size_t j = 0; j < 8 * kBytes; j += 64)
                __builtin_prefetch(from + i * kBytes + kAhead + j);
#pragma GCC unroll 8
        for (size_t j = 0; j < 8; ++j) sums[j] ^= words[i + j];
    }
    for (int j = 1; j < 8; ++j) sums[0] ^= sums[j];
    asm volatile("" : : VECTOR_REGISTER(sums[0]));
}

// A copy with non-temporal stores, where the instruction exists.
void stream(char *to, const char *from, size_t bytes) {
#ifdef __SSE2__
    for (size_t i = 0; i + 64 <= bytes; i += 64)
        for (size_t j = i; j < i + 64; j += 16)
            _mm_stream_si128(reinterpret_cast<__m128i *>(to + j),
                             _mm_load_si128(reinterpret_cast<const __m128i *>(from + j)));
    _mm_sfence();
#else
    std::memcpy(to, from, bytes);
#endif
}

void stream_fill(char *to, size_t bytes) {
#ifdef __SSE2__
    __m128i ones = _mm_set1_epi8(1);
    for (size_t i = 0; i + 16 <= bytes; i += 16)
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + i), ones);
    _mm_sfence();
#else
    std::memset(to, 1, bytes);
    keep(to);
#endif
}

}  // namespace

extern "C" {

// Bytes per second of a copy (bytes read plus bytes written) whose two buffers have `bytes` in
// total, of reading that many, and of writing that many. All memory is touched before.
void bench_traffic(size_t bytes, int threads, int rounds, double least_seconds, double *result) {
    size_t half = std::max<size_t>(bytes / 2 / threads / 1024, 1) * 1024;  // of one thread
    char *memory =
        static_cast<char *>(std::aligned_alloc(4096, (2 * half * threads + 4095) & ~size_t(4095)));
    std::memset(memory, 1, 2 * half * threads);
    double total = double(2 * half * threads);
    auto best = [&](auto &&pass) {
        double fastest = 1e30;
        long repeats = 1;
        for (int round = 0; round < rounds;) {
            double time = together(threads, [&](int thread) {
                for (long i = 0; i < repeats; ++i) pass(thread);
            });
            if (time < least_seconds) {  // shorter measurements do not count
                repeats = repeats * (time * 8 < least_seconds ? 8 : 2);
                continue;
            }
            fastest = std::min(fastest, time / double(repeats));
            ++round;
        }
        return fastest;
    };
    auto source = [&](int thread) { return memory + half * thread; };
    auto target = [&](int thread) { return memory + half * (threads + thread); };
    double plain = best([&](int thread) {
        std::memcpy(target(thread), source(thread), half);
        keep(target(thread));
    });
    double streamed = best([&](int thread) { stream(target(thread), source(thread), half); });
    double reading = best([&](int thread) { read<0>(memory + 2 * half * thread, 2 * half); });
    double ahead = best([&](int thread) { read<1024>(memory + 2 * half * thread, 2 * half); });
    double setting = best([&](int thread) {
        std::memset(memory + 2 * half * thread, 1, 2 * half);
        keep(memory);
    });
    double filling = best([&](int thread) { stream_fill(memory + 2 * half * thread, 2 * half); });
    result[0] = total / std::min(plain, streamed);
    result[1] = total / std::min(reading, ahead);
    result[2] = total / std::min(setting, filling);
    std::free(memory);
}

// Vector instructions per second of all threads together, and the lanes of a vector of F32. The
// loop issues independent multiply-adds.
void bench_issue(int threads, int rounds, double *result) {
    constexpr long kRounds = 1'000'000;
    constexpr int kChains = 16;
    double fastest = 1e30;
    for (int round = 0; round < rounds; ++round) {
        double time = together(threads, [&](int) {
            Floats sums[kChains] = {};
            Floats left = Floats{} + 1.0f, right = Floats{} + 1e-6f;
            // Opaque to the compiler, which would otherwise merge equal sums and hoist the product.
            for (Floats &sum : sums) asm volatile("" : "+" VECTOR_REGISTER(sum));
            for (long i = 0; i < kRounds; ++i) {
                asm volatile("" : "+" VECTOR_REGISTER(left));
#pragma GCC unroll 16
                for (int j = 0; j < kChains; ++j) sums[j] += left * right;
            }
            for (int j = 0; j < kChains; ++j) asm volatile("" : : VECTOR_REGISTER(sums[j]));
        });
        fastest = std::min(fastest, time);
    }
    result[0] = double(kRounds) * kChains * threads / fastest;
    result[1] = kLanes;
}

// Nanoseconds of a call: add of 8 x 8 and rms_norm of 64 elements, F32, on the null stream.
void bench_tiny(int rounds, long repeats, double *result) {
    infiniopHandle_t handle;
    OK(infiniopCreateHandle(&handle));
    infiniopTensorDescriptor_t square, row, weight;
    size_t shape[] = {8, 8}, row_shape[] = {1, 64}, weight_shape[] = {64};
    ptrdiff_t strides[] = {8, 1}, row_strides[] = {64, 1}, weight_strides[] = {1};
    OK(infiniopCreateTensorDescriptor(&square, 2, shape, strides, INFINI_DTYPE_F32));
    OK(infiniopCreateTensorDescriptor(&row, 2, row_shape, row_strides, INFINI_DTYPE_F32));
    OK(infiniopCreateTensorDescriptor(&weight, 1, weight_shape, weight_strides, INFINI_DTYPE_F32));
    infiniopAddDescriptor_t add;
    infiniopRMSNormDescriptor_t norm;
    OK(infiniopCreateAddDescriptor(handle, &add, square, square, square));
    OK(infiniopCreateRMSNormDescriptor(handle, &norm, row, row, weight, 1e-5f));
    size_t add_size, norm_size;
    OK(infiniopGetAddWorkspaceSize(add, &add_size));
    OK(infiniopGetRMSNormWorkspaceSize(norm, &norm_size));
    std::vector<char> workspace(std::max(add_size, norm_size) + 64);
    alignas(64) float a[64], b[64], c[64];
    std::fill(a, a + 64, 1.0f);
    std::fill(b, b + 64, 2.0f);
    auto best = [&](auto &&call) {
        double fastest = 1e30;
        for (int round = 0; round < rounds; ++round) {
            auto begin = Clock::now();
            for (long i = 0; i < repeats; ++i) call();
            fastest = std::min(fastest, seconds_since(begin));
        }
        return fastest / double(repeats) * 1e9;
    };
    result[0] = best([&] { OK(infiniopAdd(add, workspace.data(), add_size, c, a, b, nullptr)); });
    result[1] =
        best([&] { OK(infiniopRMSNorm(norm, workspace.data(), norm_size, c, a, b, nullptr)); });
    OK(infiniopDestroyAddDescriptor(add));
    OK(infiniopDestroyRMSNormDescriptor(norm));
    for (auto descriptor : {square, row, weight}) OK(infiniopDestroyTensorDescriptor(descriptor));
    OK(infiniopDestroyHandle(handle));
}

}  // extern "C"
