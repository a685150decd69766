// ctc_loss: a block for each sequence. T: float or double. kSingle: no more labels and blanks than
// threads, so that the label of a thread is in registers.
#pragma once

#include "recurrence_params.h"

#ifdef INFINI_DEVICE

namespace infini {

struct Alignments {
    const CtcParams &p;
    const T *log_probs;
    const int64_t *targets;

    INFINI_DEVICE int64_t label(int64_t i) const {
        const int64_t found = i % 2 ? targets[i / 2 * p.target_stride[1]] : p.blank;
        return found < 0 ? 0 : found < p.classes ? found : p.classes - 1;
    }
    INFINI_DEVICE bool skips(int64_t i) const { return i > 1 && label(i) != label(i - 2); }
    INFINI_DEVICE T given(int64_t t, int64_t label) const {
        return log_probs[t * p.log_probs_stride[0] + label * p.log_probs_stride[2]];
    }
};

// A label stays, or follows the previous one, or the one before that.
INFINI_DEVICE T reached(const T *now, bool skips) {
    const T none = -infinity<T>(), stay = now[0], follow = now[-1], skip = skips ? now[-2] : none;
    const T most = stay > follow ? (stay > skip ? stay : skip) : (follow > skip ? follow : skip);
    if (most == none) return none;
    return most + ::log(::exp(stay - most) + ::exp(follow - most) + ::exp(skip - most));
}

INFINI_DEVICE int64_t limited(const int64_t *length, int64_t most) {
    return *length < 0 ? 0 : *length < most ? *length : most;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(CtcParams, kThreads, 1) {
    INFINI_DYNAMIC_SHARED(shared);
    const int64_t n = blockIdx.x, room = 2 * p.targets_size + 3;
    T *memory = kShared ? reinterpret_cast<T *>(shared) : static_cast<T *>(p.rooms) + n * 2 * room;
    T *now = memory + 2, *next = now + room;
    const Alignments a = {p, static_cast<const T *>(p.log_probs) + n * p.log_probs_stride[1],
                          p.targets + n * p.target_stride[0]};
    const int64_t steps = limited(p.input_lengths + n * p.length_stride[0], p.steps);
    const int64_t size = 2 * limited(p.target_lengths + n * p.length_stride[1], p.targets_size) + 1;
    for (int64_t i = threadIdx.x; i < 2 * room; i += kThreads)
        memory[i] = i == 2 ? T(0) : -infinity<T>();
    __syncthreads();
    if constexpr (kSingle) {
        // The log probabilities of the next steps are loaded while these are computed.
        constexpr int kAhead = 8;
        const int64_t i = threadIdx.x;
        const bool active = i < size, skips = active && a.skips(i);
        const int64_t label = active ? a.label(i) : 0;
        T given[kAhead], later[kAhead];
        auto load = [&](int64_t first, T(&to)[kAhead]) {
#pragma unroll
            for (int u = 0; u < kAhead; ++u)
                to[u] = active && first + u < steps ? a.given(first + u, label) : T(0);
        };
        load(0, given);
        for (int64_t first = 0; first < steps; first += kAhead) {
            load(first + kAhead, later);
#pragma unroll
            for (int u = 0; u < kAhead; ++u) {
                if (first + u >= steps) break;
                if (active) next[i] = reached(now + i, skips) + given[u];
                __syncthreads();
                T *held = now;
                now = next, next = held;
            }
#pragma unroll
            for (int u = 0; u < kAhead; ++u) given[u] = later[u];
        }
    } else {
        for (int64_t t = 0; t < steps; ++t) {
            for (int64_t i = threadIdx.x; i < size; i += kThreads)
                next[i] = reached(now + i, a.skips(i)) + a.given(t, a.label(i));
            __syncthreads();
            T *held = now;
            now = next, next = held;
        }
    }
    if (threadIdx.x == 0)
        static_cast<T *>(p.loss)[n * p.loss_stride] = -reached(now + size - 1, false);
}

#endif  // INFINI_DEVICE
