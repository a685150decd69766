// Where lines lie side by side: a thread takes a line, or a piece of it, from one end to the other.
// kSums: only what each piece comes to is written, for the second kernel to begin with.
#include "running.cuh"

using namespace infini;

INFINI_ENTRY(ScanParams, 256, 1) {
    using State = Running::State;
    const int64_t task = grid_thread();
    if (task >= p.lines * p.pieces) return;
    const int64_t piece = uint64_t(task) / uint64_t(p.lines), line = task - piece * p.lines;
    const int64_t begin = piece * p.piece;
    const int64_t end = begin + p.piece < p.size ? begin + p.piece : p.size;
    const T *from = static_cast<const T *>(p.x) + p.from(line);
    R *to = kSums ? nullptr : static_cast<R *>(p.y) + p.to(line);
    int64_t *places = kPlaces && !kSums ? p.places + p.stood(line) : nullptr;
    State *parts = static_cast<State *>(p.parts);
    State running = Running::identity();
    if (!kSums)
        for (int64_t i = 0; i < piece; ++i)
            running = Running::combine(running, parts[i * p.lines + line]);

    constexpr int kAtOnce = 8;
    for (int64_t first = begin; first < end; first += kAtOnce) {
        T x[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i)
            if (first + i < end) x[i] = from[(first + i) * p.from_step];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
            const int64_t at = first + i;
            if (at >= end) break;
            const State next = Running::combine(running, Running::begin(x[i], at));
            if constexpr (!kSums) {
                const State shown = kExclusive ? running : next;
                to[at * p.to_step] = Running::value(shown);
                if constexpr (kPlaces) places[at * p.stood_step] = Running::place(shown);
            }
            running = next;
        }
    }
    if (kSums) parts[task] = running;
}
