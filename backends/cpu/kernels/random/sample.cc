// random_sample: draws an index from logits with one random number, among the most probable ones.
#include <cmath>

#include "convert.h"
#include "functions.h"
#include "kernel.h"
#include "sort/order.h"

namespace infini::cpu {
namespace {

struct Choice {
    float random, topp, temperature;
    int64_t topk;
};

// The index of the greatest logit of a row; the first among equals.
template <class T>
int64_t greatest(const Line<T> &row) {
    constexpr int64_t kBlock = 256;
    int64_t best = 0;
    Key<T> least = row.key(0);
    for (int64_t begin = 0; begin < row.size; begin += kBlock) {
        const int64_t end = std::min(begin + kBlock, row.size);
        Key<T> found = least;
        for (int64_t i = begin; i < end; ++i) found = std::min(found, row.key(i));
        if (found >= least) continue;
        least = found;
        for (best = begin; row.key(best) != least;) ++best;
    }
    return best;
}

// The sum of exp((x - top) / temperature) over a row, in blocks that stay in L1.
template <class T, class C>
double total_weight(const Line<T> &row, C top, C temperature) {
    constexpr int64_t kBlock = 256;
    C block[kBlock];
    double total = 0;
    for (int64_t begin = 0; begin < row.size; begin += kBlock) {
        const int64_t n = std::min(kBlock, row.size - begin);
        load_strided(block, row.data + begin * row.step, size_t(n), row.step);
        if constexpr (std::is_same_v<C, float>) {
            constexpr int64_t kLanes = kWidth<float>;
            std::fill(block + n, block + (n + kLanes - 1) / kLanes * kLanes,
                      -std::numeric_limits<float>::infinity());
            F32 sum = broadcast<F32>(0);
            for (int64_t i = 0; i < n; i += kLanes)
                sum += exp(F32((load<F32>(block + i) - top) / temperature));
            total += reduce_add(sum);
        } else {
            for (int64_t i = 0; i < n; ++i) total += std::exp((block[i] - top) / temperature);
        }
    }
    return total;
}

// `room` holds one entry per logit.
template <class T>
int64_t sample(const Line<T> &row, const Choice &choice, Entry<Key<T>> *room) {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const int64_t first = greatest(row);
    if (choice.random == 0 || choice.topp == 0 || choice.topk == 1 || choice.temperature == 0)
        return first;
    const C top = load_element<C>(row.data[first * row.step]);
    const C temperature = C(choice.temperature);
    auto weight = [&](const Entry<Key<T>> &entry) {
        return double(
            exp((load_element<C>(row.data[entry.place() * row.step]) - top) / temperature));
    };
    // A topk below 1 selects all.
    const int64_t k = choice.topk < 1 ? row.size : std::min(choice.topk, row.size);
    double limit = double(choice.topp) * total_weight(row, top, temperature);
    for (int64_t i = 0; i < row.size; ++i) room[i] = row.entry(i);
    if (k < row.size) {
        std::nth_element(room, room + k - 1, room + row.size);
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += weight(room[i]);
        limit = std::min(limit, sum);
    }
    const double threshold = double(choice.random) * limit;

    // Sorts only as many entries as the sums need.
    double sum = 0;
    for (int64_t done = 0, part = 64; done < k; part *= 8) {
        const int64_t end = std::min(k, done + part);
        if (end < k) std::nth_element(room + done, room + end - 1, room + k);
        std::sort(room + done, room + end);
        for (; done < end; ++done)
            if ((sum += weight(room[done])) >= threshold) return room[done].place();
    }
    return room[k - 1].place();
}

std::unique_ptr<Plan> plan_random_sample(const Operation &operation) {
    const Tensor result = operation.tensor(0), probs = operation.tensor(1);
    const bool batched = probs.ndim == 2;
    const int64_t rows = batched ? probs.size(0) : 1, size = probs.size(-1);
    const int64_t pitch = batched ? probs.stride(0) : 0, step = probs.stride(-1);
    const int64_t result_step = batched ? result.stride(0) : 0;
    const int result_dtype = result.dtype;
    const Slots slots(rows, size);

    std::unique_ptr<Plan> plan;
    visit_dtype(probs.dtype, [&]<class T>(Type<T>) {
        if constexpr (kIsFloat<T>) {
            using E = Entry<Key<T>>;
            auto run = [=](const Arguments &a) {
                // Single: four scalars. Batch: four consecutive lists, and their length.
                // The last scalar identifies the run function.
                const bool lists = a.integer(int(a.c.scalar_count) - 1) == 1;
                const int64_t given = lists ? int64_t(a.c.scalar_count - 2) / 4 : 1;
                slots.run([&](int64_t row, int64_t slot) {
                    if (lists && row >= given) return;
                    const int at = int(lists ? row : 0), n = int(given);
                    const Choice choice = {float(a.number(at)), float(a.number(n + at)),
                                           float(a.number(3 * n + at)), a.integer(2 * n + at)};
                    const Line<T> line = {a.pointer<T>(1) + row * pitch, step, size, true};
                    E *room = reinterpret_cast<E *>(a.workspace()) + slot * size;
                    store_as(result_dtype, a.pointer<void>(0), row * result_step,
                             sample(line, choice, room));
                });
            };
            plan = make_plan(run, size_t(slots.count * size) * sizeof(E));
        }
    });
    return plan;
}

INFINI_KERNEL("random_sample", plan_random_sample);

}  // namespace
}  // namespace infini::cpu
