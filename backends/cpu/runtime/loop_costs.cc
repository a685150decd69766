#include "loop_costs.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "environment.h"
#include "machine.h"
#include "sync.h"
#include "thread_pool.h"
#include "tuning.h"

namespace infini::cpu {
namespace {

// ---- Measuring ----------------------------------------------------------------------------------

constexpr size_t kItems = 4;  // for each thread

// A chain of additions, which takes the same time on every thread.
void work(size_t items, int rounds) {
    uint64_t x = 0;
    for (int i = 0; i < int(items) * rounds; ++i) {
        x += 1;
        asm volatile("" : "+r"(x));
    }
}

// The time of a call, in nanoseconds: of batches of calls, the lower quartile, as other programs only
// make it longer.
template <class Call>
double time_ns(Call call) {
    constexpr int kBatches = 15, kLeastBatches = 5, kCalls = 32;
    constexpr int64_t kMostNs = 30'000'000;
    std::vector<double> times;
    const int64_t begin = now_ns();
    for (int i = 0; i < kBatches; ++i) {
        const int64_t start = now_ns();
        for (int j = 0; j < kCalls; ++j) call();
        times.push_back(double(now_ns() - start) / kCalls);
        if (i + 1 >= kLeastBatches && now_ns() - begin > kMostNs) break;
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 4];
}

}  // namespace

TuningFile cpu_tuning_file() {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return TuningFile(std::string(machine().name) + ", " + std::to_string(processors) +
                      (processors == 1 ? " processor" : " processors"));
}

std::vector<size_t> LoopCosts::measured_sizes(size_t size) {
    std::vector<size_t> sizes;
    for (size_t n = 2; n < size; n *= 2) {
        sizes.push_back(n);
        if (n + n / 2 < size) sizes.push_back(n + n / 2);
    }
    if (size > 1) sizes.push_back(size);
    return sizes;
}

// The size of the pool matters: with more threads than processors helpers do not spin.
std::string LoopCosts::key(size_t pool_size, size_t threads) {
    return "cpu.pool_" + std::to_string(pool_size) + ".loop_start_ns." + std::to_string(threads);
}

// Each thread has kItems items that take kRangeNs together; the cost is what the loop takes longer.
void LoopCosts::measure(ThreadPool &pool, Values &values) {
    constexpr int kTrial = 20'000;
    work(1, kTrial);
    const double trial = time_ns([] { work(1, kTrial); });
    const int rounds = std::max(1, int(kRangeNs / kItems * kTrial / std::max(trial, 1.0)));
    const double alone = time_ns([=] { work(kItems, rounds); });
    for (size_t threads : measured_sizes(pool.size())) {
        auto loop = [&, threads] {
            pool.parallel_on(threads, kItems * threads,
                             [=](size_t begin, size_t end) { work(end - begin, rounds); });
        };
        for (int i = 0; i < 8; ++i) loop();  // starts the threads
        const double ns = std::round(std::max(0.0, time_ns(loop) - alone));
        values[key(pool.size(), threads)] = ns;
    }
}

LoopCosts::LoopCosts(const Values &values, size_t pool_size) {
    std::vector<Cost> costs;
    for (size_t threads : measured_sizes(pool_size)) {
        const auto found = values.find(key(pool_size, threads));
        if (found == values.end()) return;
        costs.push_back({threads, found->second});
    }
    // Fewer threads cost no more: a larger measurement was disturbed.
    for (size_t i = costs.size(); i-- > 1;)
        costs[i - 1].ns = std::min(costs[i - 1].ns, costs[i].ns);
    set(costs);
}

// A step to more threads pays when it saves more of the work's time than the start costs more.
void LoopCosts::set(const std::vector<Cost> &costs) {
    Cost before{1, 0};
    double least = 0;
    for (const Cost &cost : costs) {
        const double saved = 1.0 / double(before.threads) - 1.0 / double(cost.threads);
        least = std::max(least, (cost.ns - before.ns) / saved / kRangeNs);
        steps_.push_back({least, cost.threads});
        before = cost;
    }
}

LoopCosts LoopCosts::of(ThreadPool &pool) try {
    const TuningMode mode = tuning_mode();
    if (mode == TuningMode::Off) return {};
    const TuningFile file = cpu_tuning_file();
    Values values;
    std::string problem = file.read(values);
    LoopCosts costs(values, pool.size());
    if (mode == TuningMode::On && problem.empty() && costs.empty()) {
        measure(pool, values);
        problem = file.write(values, false);
        costs = LoopCosts(values, pool.size());
    }
    if (!problem.empty()) warn_of_setting("INFINI_TUNING_FILE", problem);
    return costs;
} catch (...) {  // out of memory, for instance: the constants are good enough
    return {};
}

}  // namespace infini::cpu
