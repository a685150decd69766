// How many threads a loop is worth. A kernel chooses the grain of a loop so that a range of that
// size takes some 10 microseconds, and by that constant a loop has a thread for each such range.
// Measured costs of starting threads, if there are any, make short loops narrower.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tuning.h"

namespace infini::cpu {

class ThreadPool;

class LoopCosts {
public:
    static constexpr double kRangeNs = 10'000;

    using Values = TuningFile::Values;  // nanoseconds, by key

    LoopCosts() = default;
    // Empty unless all sizes of loops were measured.
    LoopCosts(const Values &values, size_t pool_size);

    // The tuning file's, measured ones, or none, as INFINI_TUNING says. Never throws.
    static LoopCosts of(ThreadPool &pool);

    bool empty() const { return steps_.empty(); }

    // At most how many threads a loop is worth that takes one of them `ranges` times kRangeNs.
    size_t threads(double ranges) const {
        size_t most = 1;
        for (const Step &step : steps_) {
            if (ranges < step.ranges) break;
            most = step.threads;
        }
        return most;
    }

    struct Step {
        double ranges;  // from so many on
        size_t threads;
    };
    const std::vector<Step> &steps() const { return steps_; }

    // The numbers of threads that are measured: 2, 3, 4, 6, 8, 12, ... and all of the pool.
    static std::vector<size_t> measured_sizes(size_t pool_size);
    static std::string key(size_t pool_size, size_t threads);
    static void measure(ThreadPool &pool, Values &values);

private:
    struct Cost {
        size_t threads;
        double ns;  // of a loop with so many threads, beyond its share of the work
    };
    void set(const std::vector<Cost> &costs);

    std::vector<Step> steps_;  // both members ascend
};

TuningFile cpu_tuning_file();

}  // namespace infini::cpu
