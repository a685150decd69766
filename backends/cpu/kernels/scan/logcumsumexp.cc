// logcumsumexp: the running log(sum(exp(x))) along an axis, kept as the greatest x so far and the
// sum of exp(x - greatest), so that nothing overflows.
#include <cmath>
#include <limits>

#include "convert.h"
#include "functions.h"
#include "index/offsets.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

// V: a scalar, or a vector of neighbouring lines.
template <class V>
struct Running {
    V greatest, sum;

    Running()
        : greatest(broadcast<V>(-std::numeric_limits<Element<V>>::infinity())),
          sum(broadcast<V>(0)) {}
    void add(V x) {
        // Takes one exponential: of the smaller relative to the greater. Equal values (including
        // infinities) have distance 0. NaN fails both comparisons and propagates.
        const V zero = broadcast<V>(0);
        const V distance = select(x == greatest, zero, V(x - greatest));
        const auto up = distance > zero;
        const V scale = exp(select(up, V(-distance), distance));
        sum = select(up, fma(sum, scale, broadcast<V>(1)), V(sum + scale));
        greatest = select(up, x, greatest);
    }
    V value() const { return select(sum == broadcast<V>(0), greatest, V(greatest + log(sum))); }
};

struct Scan {
    Lines from, to;
    bool exclusive, reverse;

    // The position of the i-th element in scan order.
    int64_t at(int64_t i) const { return reverse ? from.size - 1 - i : i; }

    template <class V, class Load, class Store>
    void line(const Load &load, const Store &store) const {
        Running<V> running;
        for (int64_t i = 0; i < from.size; ++i) {
            const V x = load(at(i) * from.step);
            if (exclusive) store(at(i) * to.step, running.value());
            running.add(x);
            if (!exclusive) store(at(i) * to.step, running.value());
        }
    }
};

std::unique_ptr<Plan> plan_logcumsumexp(const Operation &operation) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    const int axis = int(operation.integer(0));
    const Scan scan = {Lines(x, axis), Lines(y, axis), operation.integer(1) != 0,
                       operation.integer(2) != 0};
    const int64_t lines = scan.from.count();
    const size_t grain = size_t(std::max<int64_t>(1, 2048 / std::max<int64_t>(1, scan.from.size)));
    // Adjacent lines are scanned together, a vector of them at a time.
    const bool together = axis + 1 < x.ndim && x.stride(-1) == 1 && y.stride(-1) == 1;
    const int64_t width = together ? x.size(-1) : 1;

    std::unique_ptr<Plan> plan;
    visit_dtype(x.dtype, [&]<class T>(Type<T>) {
        if constexpr (kIsFloat<T>) {
            using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
            plan = make_plan([=](const Arguments &a) {
                T *result = a.pointer<T>(0);
                const T *data = a.pointer<T>(1);
                auto one = [&](int64_t number) {
                    T *to = result + scan.to.offsets(number);
                    const T *from = data + scan.from.offsets(number);
                    scan.line<C>([=](int64_t at) { return load_element<C>(from[at]); },
                                 [=](int64_t at, C value) { store_element(to[at], value); });
                };
                auto several = [&](int64_t number) {
                    T *to = result + scan.to.offsets(number);
                    const T *from = data + scan.from.offsets(number);
                    scan.line<F32>([=](int64_t at) { return load_f32(from + at); },
                                   [=](int64_t at, F32 value) { store_f32(to + at, value); });
                };
                constexpr int64_t kLanes = kWidth<C>;
                // Lines anywhere: an element of each makes a vector.
                auto spread = [&](int64_t number, int64_t count) {
                    T *to[kLanes];
                    const T *from[kLanes];
                    for (int64_t i = 0; i < kLanes; ++i) {
                        to[i] = result + scan.to.offsets(number + std::min(i, count - 1));
                        from[i] = data + scan.from.offsets(number + std::min(i, count - 1));
                    }
                    scan.line<Vec<C>>(
                        [&](int64_t at) {
                            C values[kLanes];
                            for (int64_t i = 0; i < kLanes; ++i)
                                values[i] = load_element<C>(from[i][at]);
                            return load<Vec<C>>(values);
                        },
                        [&](int64_t at, Vec<C> value) {
                            C values[kLanes];
                            store(values, value);
                            for (int64_t i = 0; i < count; ++i) store_element(to[i][at], values[i]);
                        });
                };
                parallel_for(size_t(lines), grain, [&](size_t begin, size_t end) {
                    for (int64_t i = int64_t(begin), count; i < int64_t(end); i += count) {
                        count = std::min(kLanes, int64_t(end) - i);
                        if constexpr (std::is_same_v<C, float>) {
                            if (width - i % width >= kLanes && count == kLanes) {
                                several(i);
                                continue;
                            }
                        }
                        if (count > 1)
                            spread(i, count);
                        else
                            one(i);
                    }
                });
            });
        }
    });
    return plan;
}

INFINI_KERNEL("logcumsumexp", plan_logcumsumexp);

}  // namespace
}  // namespace infini::cpu
