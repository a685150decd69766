// ctc_loss: for each step of a sequence, the probabilities of all labels in vectors.
#include <algorithm>
#include <limits>

#include "functions.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

struct Sizes {
    int64_t steps, classes, targets, blank;
    int64_t log_probs[3], target[2], input_length, target_length, loss;  // strides
};

template <class T>
struct Sequences {
    static constexpr int64_t kStep = int64_t(kWidth<T>);
    static constexpr T kNone = -std::numeric_limits<T>::infinity();

    Sizes s;
    T *loss;
    const T *log_probs;
    const int64_t *targets, *input_lengths, *target_lengths;

    // Labels and the blanks around them, in whole vectors.
    static int64_t room(const Sizes &s) { return (2 * s.targets + kStep) / kStep * kStep; }
    // Two rows of log probabilities, each after one vector without any; those of a step; 0 where a
    // label can follow the one before the last, else -inf; classes.
    static int64_t scratch(const Sizes &s) { return 5 * room(s) + 2 * kStep; }

    void run(int64_t n, T *memory) const {
        const int64_t padded = room(s);
        T *now = memory + kStep, *next = now + padded + kStep, *given = next + padded;
        T *skips = given + padded;
        int64_t *classes = reinterpret_cast<int64_t *>(skips + padded);
        const int64_t size = std::clamp<int64_t>(target_lengths[n * s.target_length], 0, s.targets);
        const int64_t steps = std::clamp<int64_t>(input_lengths[n * s.input_length], 0, s.steps);
        const int64_t count = 2 * size + 1;
        std::fill_n(memory, 2 * (padded + kStep), kNone);
        std::fill_n(given, 2 * padded, kNone);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t label = i % 2 ? targets[n * s.target[0] + i / 2 * s.target[1]] : s.blank;
            classes[i] = std::clamp<int64_t>(label, 0, s.classes - 1);
            if (i > 1 && classes[i] != classes[i - 2]) skips[i] = 0;
        }
        now[0] = 0;
        for (int64_t t = 0; t < steps; ++t) {
            const T *row = log_probs + t * s.log_probs[0] + n * s.log_probs[1];
            for (int64_t i = 0; i < count; ++i) given[i] = row[classes[i] * s.log_probs[2]];
            for (int64_t i = 0; i < count; i += kStep)
                step(now + i, next + i, given + i, skips + i);
            std::swap(now, next);
        }
        const T last = now[count - 1], before = now[count - 2];  // none before the first
        const T most = std::max({last, before, std::numeric_limits<T>::lowest()});
        loss[n * s.loss] = -(most + std::log(std::exp(last - most) + std::exp(before - most)));
    }

    static void step(const T *now, T *next, const T *given, const T *skips) {
        using V = Vec<T>;
        const V stay = load(now), follow = load(now - 1), skip = load(now - 2) + load(skips);
        // A finite base, so that no difference of infinities is taken.
        V most = broadcast<V>(std::numeric_limits<T>::lowest());
        for (const V &each : {stay, follow, skip}) most = select(each > most, each, most);
        const V sum = exp(V(stay - most)) + exp(V(follow - most)) + exp(V(skip - most));
        store(next, V(most + log(sum) + load(given)));
    }
};

template <class T>
std::unique_ptr<Plan> plan_for(const Operation &op) {
    const Tensor loss = op.tensor(0), logs = op.tensor(1), targets = op.tensor(2);
    Sizes s = {};
    s.steps = logs.size(0), s.classes = logs.size(2), s.targets = targets.size(1);
    s.blank = op.integer(0);
    for (int d = 0; d < 3; ++d) s.log_probs[d] = logs.stride(d);
    s.target[0] = targets.stride(0), s.target[1] = targets.stride(1);
    s.input_length = op.tensor(3).stride(0), s.target_length = op.tensor(4).stride(0);
    s.loss = loss.stride(0);
    const int64_t count = loss.size(0);
    // Classes are 64-bit numbers, one or two elements each.
    const int64_t room = Sequences<T>::room(s);
    const size_t slot = size_t(Sequences<T>::scratch(s)) * sizeof(T) + size_t(room) * 8 + 64;
    const int64_t cost = std::max<int64_t>(1, s.steps * (room + 16));
    const size_t grain = size_t(std::max<int64_t>(1, 4000 / cost));
    auto run = [=](const Arguments &a) {
        const Sequences<T> sequences = {s,
                                        a.pointer<T>(0),
                                        a.pointer<const T>(1),
                                        a.pointer<const int64_t>(2),
                                        a.pointer<const int64_t>(3),
                                        a.pointer<const int64_t>(4)};
        parallel_for(size_t(count), grain, [&](size_t begin, size_t end) {
            for (size_t n = begin; n < end; ++n)
                sequences.run(int64_t(n), reinterpret_cast<T *>(a.workspace() + n * slot));
        });
    };
    return make_plan(run, size_t(count) * slot);
}

std::unique_ptr<Plan> plan_ctc_loss(const Operation &op) {
    return op.tensor(0).dtype == INFINI_DTYPE_F64 ? plan_for<double>(op) : plan_for<float>(op);
}

INFINI_KERNEL("ctc_loss", plan_ctc_loss);

}  // namespace
}  // namespace infini::cpu
