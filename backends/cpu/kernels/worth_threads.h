// For kernels that know how long their work takes: loops on as many threads as it is worth.
#pragma once

#include <cstddef>

#include "threads.h"

namespace infini::cpu {

// How many threads work of so many times 10 microseconds is worth at most: all of them, unless the
// cost of starting threads was measured (docs/tuning.md).
size_t worth_threads(double ranges);

void parallel_work(size_t count, size_t grain, double ranges,
                   void (*call)(const void *, size_t, size_t), const void *body);

// parallel_for, for loops that take one thread `ranges` times 10 microseconds: count / grain says
// less where an item takes longer than that.
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
