// Loops with as many threads as pay off, for kernels that can estimate their duration.
#pragma once

#include <cstddef>

#include "threads.h"

namespace infini::cpu {

// The maximum number of threads that pay off for work of `ranges` times 10 microseconds: all,
// unless the cost of starting threads was measured (docs/tuning.md).
size_t worth_threads(double ranges);

void parallel_work(size_t count, size_t grain, double ranges,
                   void (*call)(const void *, size_t, size_t), const void *body);

// parallel_for for loops that take one thread `ranges` times 10 microseconds; count / grain is too
// small an estimate where an item takes longer than that.
template <class Body>
void parallel_for_work(size_t count, size_t grain, double ranges, const Body &body) {
    if (count <= grain) {
        if (count) body(size_t(0), count);
        return;
    }
    parallel_work(
        count, grain, ranges,
        [](const void *self, size_t begin, size_t end) {
            (*static_cast<const Body *>(self))(begin, end);
        },
        &body);
}

}  // namespace infini::cpu
