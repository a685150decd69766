// The CPU's thread pool: every index once, from several callers, nested, and after pauses in which
// the helpers fall asleep. Run with sanitizers, it shows races of the pool itself.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "../../backends/cpu/runtime/loop_costs.cc"
#include "../../backends/cpu/runtime/machine.cc"
#include "../../backends/cpu/runtime/sync.cc"
#include "../../backends/cpu/runtime/thread_pool.cc"
#include "../../csrc/base/tuning.cc"
#include "check.h"

using infini::cpu::LoopCosts;
using infini::cpu::ThreadPool;

namespace {

ThreadPool *pool;

// Plain memory: a helper that is not waited for is a race, and wrong counts.
void count_once(size_t count, size_t grain) {
    std::vector<int> seen(count, 0);
    pool->parallel_for(count, grain, [&](size_t begin, size_t end) {
        CHECK(begin < end && end <= count);
        CHECK(end - begin >= grain || end == count);
        for (size_t i = begin; i < end; ++i) ++seen[i];
    });
    for (size_t i = 0; i < count; ++i) CHECK_EQ(seen[i], 1);
}

void test_sizes() {
    for (size_t count : {0, 1, 2, 3, 7, 16, 63, 64, 65, 1000, 4097})
        for (size_t grain : {1, 2, 5, 64, 5000}) count_once(count, grain);
}

void test_callers(int callers, int rounds) {
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; ++t)
        threads.emplace_back([=] {
            for (int i = 0; i < rounds; ++i) count_once(size_t(1 + (t * 37 + i * 13) % 300), 3);
        });
    for (std::thread &thread : threads) thread.join();
}

void test_nested() {
    for (int round = 0; round < 50; ++round) {
        std::vector<long> sums(20, 0);
        pool->parallel_for(sums.size(), 1, [&](size_t begin, size_t end) {
            for (size_t i = begin; i < end; ++i) {
                std::atomic<long> sum{0};
                pool->parallel_for(50, 5, [&](size_t first, size_t last) {
                    for (size_t k = first; k < last; ++k) sum += long(k);
                });
                sums[i] = sum;
            }
        });
        for (long sum : sums) CHECK_EQ(sum, 49 * 50 / 2);
    }
}

void test_pauses() {
    for (int pause_us : {0, 50, 200, 1000, 3000})
        for (int i = 0; i < 20; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
            count_once(200, 4);
        }
}

// With measured costs, short loops use fewer threads, except those of one item per range.
void test_costs() {
    LoopCosts::Values values;
    CHECK(LoopCosts(values, 6).empty());
    for (size_t threads : LoopCosts::measured_sizes(6))
        values[LoopCosts::key(6, threads)] = threads < 6 ? 10'000 : 1e9;
    const LoopCosts costs(values, 6);
    CHECK_EQ(costs.threads(1.99), 1);  // 2 x (its work / 2) > 10 microseconds
    CHECK_EQ(costs.threads(2.0), 4);
    CHECK_EQ(costs.threads(1000.0), 4);
    CHECK_EQ(costs.threads(10000000.0), 6);
    values[LoopCosts::key(6, 3)] = 5e9;  // noisy measurement: 4 threads cost less
    CHECK_EQ(LoopCosts(values, 6).threads(2.0), 4);
    values.erase(LoopCosts::key(6, 3));
    CHECK(LoopCosts(values, 6).empty());
}

void test_file() {
    std::string path = std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") +
                       "/infini-tuning-" + std::to_string(getpid());
    setenv("INFINI_TUNING_FILE", path.c_str(), 1);
    LoopCosts::Values values;
    for (size_t threads : LoopCosts::measured_sizes(6)) values[LoopCosts::key(6, threads)] = 1e9;
    CHECK(infini::cpu::cpu_tuning_file().write(values, false).empty());
    pool = new ThreadPool;
    for (size_t grain : {1, 2}) {
        std::atomic<int> calls{0};
        pool->parallel_for(100, grain, [&](size_t, size_t) { ++calls; });
        CHECK_EQ(calls > 1, grain == 1);
    }
    CHECK_EQ(unlink(path.c_str()) + unlink((path + ".lock").c_str()), 0);
}

}  // namespace

int main() {
    setenv("INFINI_NUM_THREADS", "6", 1);
    pool = new ThreadPool;  // its threads never end
    CHECK_EQ(pool->size(), 6);
    test_sizes();
    test_callers(4, 300);
    test_callers(12, 100);  // more than the available slots
    test_nested();
    test_pauses();
    test_costs();
    test_file();
    CHECK(infini::cpu::processor_quota() >= 1);
}
