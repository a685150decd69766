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

constexpr int64_t kPiece = 4096;  // logits whose weights are summed by one thread

// The sum of exp((x - top) / temperature) over a part of a row, in blocks that stay in L1.
template <class T, class C>
double weight_of(const Line<T> &row, int64_t first, int64_t last, C top, C temperature) {
    constexpr int64_t kBlock = 256;
    C block[kBlock];
    double total = 0;
    for (int64_t begin = first; begin < last; begin += kBlock) {
        const int64_t n = std::min(kBlock, last - begin);
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

// The sum over a row; `sums` holds a number per piece.
template <class T, class C>
double total_weight(const Line<T> &row, C top, C temperature, bool threads, double *sums) {
    const int64_t pieces = (row.size + kPiece - 1) / kPiece;
    const auto body = [&](size_t begin, size_t end) {
        for (int64_t i = int64_t(begin); i < int64_t(end); ++i)
            sums[i] =
                weight_of(row, i * kPiece, std::min(row.size, (i + 1) * kPiece), top, temperature);
    };
    if (threads)
        parallel_for(size_t(pieces), 4, body);
    else
        body(0, size_t(pieces));
    double total = 0;
    for (int64_t i = 0; i < pieces; ++i) total += sums[i];
    return total;
}

// Moves the first `count` entries of a row to the front of `room`, and the first `done` of them
// before the others.
template <class T>
void extend(const Line<T> &row, int64_t done, int64_t count, Entry<Key<T>> *room) {
    int64_t held = row.size;
    if (count <= row.size / 8)
        find_first(row, held = count, room);
    else
        for (int64_t i = 0; i < row.size; ++i) room[i] = row.entry(i);
    if (done > 0) std::nth_element(room, room + done - 1, room + held);
    if (count < held) std::nth_element(room + done, room + count - 1, room + held);
}

// `room` holds an entry per logit, `sums` a number per piece.
template <class T>
int64_t sample(const Line<T> &row, const Choice &choice, bool threads, Entry<Key<T>> *room,
               double *sums) {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    if (choice.random == 0 || choice.topp == 0 || choice.topk == 1 || choice.temperature == 0)
        return greatest(row);
    // A topk below 1 selects all.
    const int64_t k = choice.topk < 1 ? row.size : std::min(choice.topk, row.size);
    constexpr int64_t kFirst = 64;
    int64_t found = std::min(k < row.size ? k : kFirst, row.size), done = 0;
    extend(row, 0, found, room);
    const int64_t first = std::min_element(room, room + found)->place();
    const C top = load_element<C>(row.data[first * row.step]);
    const C temperature = C(choice.temperature);
    auto weight = [&](const Entry<Key<T>> &entry) {
        return double(
            exp((load_element<C>(row.data[entry.place() * row.step]) - top) / temperature));
    };
    double limit = double(choice.topp) * total_weight(row, top, temperature, threads, sums);
    if (k < row.size) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += weight(room[i]);
        limit = std::min(limit, sum);
    }
    const double threshold = double(choice.random) * limit;

    // Finds and sorts only as many entries as the sums need.
    double sum = 0;
    for (int64_t part = kFirst; done < k; part *= 8) {
        const int64_t end = std::min(k, done + part);
        if (end > found) extend(row, done, found = end, room);
        if (end < found) std::nth_element(room + done, room + end - 1, room + found);
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
            const int64_t pieces = (size + kPiece - 1) / kPiece;
            const size_t rooms = size_t(slots.count * size) * sizeof(E);
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
                    double *sums =
                        reinterpret_cast<double *>(a.workspace() + rooms) + slot * pieces;
                    store_as(result_dtype, a.pointer<void>(0), row * result_step,
                             sample(line, choice, slots.count == 1, room, sums));
                });
            };
            plan = make_plan(run, rooms + size_t(slots.count * pieces) * sizeof(double));
        }
    });
    return plan;
}

INFINI_KERNEL("random_sample", plan_random_sample);

}  // namespace
}  // namespace infini::cpu
