// Multithreaded loops for kernels.
#pragma once

#include <cstddef>

namespace infini::cpu {

// The maximum number of threads in a loop.
size_t thread_count();

// See ThreadPool::parallel_for. Not a template, so that no instruction-set-specific code is
// instantiated outside.
void parallel_ranges(size_t count, size_t grain, void (*call)(const void *, size_t, size_t),
                     const void *body);

// Calls body(begin, end) for ranges that cover [0, count), each of at least `grain` but the last,
// on several threads. Runs on the calling thread if count <= grain: choose the grain so that a
// range takes 10 microseconds or more.
template <class Body>
void parallel_for(size_t count, size_t grain, const Body &body) {
    if (count <= grain) {
        if (count) body(size_t(0), count);
        return;
    }
    parallel_ranges(
        count, grain,
        [](const void *self, size_t begin, size_t end) {
            (*static_cast<const Body *>(self))(begin, end);
        },
        &body);
}

}  // namespace infini::cpu
