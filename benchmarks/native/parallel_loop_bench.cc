// For benchmarks/parallel_loop.py: an empty parallel loop on the CPU's thread pool, and with the
// OpenMP library that torch uses, called as compilers call it.
#include <algorithm>
#include <chrono>
#include <vector>

#include "../../backends/cpu/runtime/loop_costs.cc"
#include "../../backends/cpu/runtime/machine.cc"
#include "../../backends/cpu/runtime/sync.cc"
#include "../../backends/cpu/runtime/thread_pool.cc"
#include "../../csrc/base/tuning.cc"

namespace {

using Clock = std::chrono::steady_clock;
using Parallel = void (*)(void (*)(void *), void *, unsigned, unsigned);

double us_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Best and median time of a loop that starts `pause_us` after the previous one.
template <class F>
void time_loops(int loops, double pause_us, F &&loop, double *result) {
    std::vector<double> times;
    for (int i = 0; i < loops; ++i) {
        const auto before = Clock::now();
        while (us_since(before) < pause_us) infini::cpu::relax();
        const auto begin = Clock::now();
        loop();
        times.push_back(us_since(begin));
    }
    std::sort(times.begin(), times.end());
    result[0] = times[0];
    result[1] = times[times.size() / 2];
}

}  // namespace

extern "C" {

void bench_pool(int loops, double pause_us, double *result) {
    static auto *pool = new infini::cpu::ThreadPool;  // its threads never end
    auto loop = [] { pool->parallel_for(pool->size(), 1, [](size_t, size_t) {}); };
    double warm[2];
    time_loops(100, 0, loop, warm);
    time_loops(loops, pause_us, loop, result);
}

void bench_openmp(void *parallel, int threads, int loops, double pause_us, double *result) {
    auto call = reinterpret_cast<Parallel>(parallel);
    auto loop = [&] { call([](void *) {}, nullptr, unsigned(threads), 0); };
    double warm[2];
    time_loops(100, 0, loop, warm);
    time_loops(loops, pause_us, loop, result);
}
}
