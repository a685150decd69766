// searchsorted: the insertion positions of values in ascending sequences.
#include <algorithm>

#include "index/offsets.h"
#include "kernel.h"
#include "threads.h"
#include "types.h"

namespace infini::cpu {
namespace {

// The number of elements of a sequence that are smaller than x (with `right`: not larger); all of
// them for NaN, which is why the comparisons are negated.
template <class T>
int64_t search(const T *sequence, int64_t step, int64_t n, T value, bool right) {
    using C = std::conditional_t<kIsSmallFloat<T>, float,
                                 std::conditional_t<std::is_same_v<T, boolean>, int32_t, T>>;
    const C x = load_element<C>(value);
    int64_t low = 0;
    while (n > 0) {
        const int64_t half = n / 2;
        const C middle = load_element<C>(sequence[(low + half) * step]);
        const bool beyond = right ? !(middle > x) : !(middle >= x);
        low = beyond ? low + half + 1 : low;
        n = beyond ? n - half - 1 : half;
    }
    return low;
}

std::unique_ptr<Plan> plan_searchsorted(const Operation &operation) {
    const Tensor output = operation.tensor(0), sequence = operation.tensor(1);
    const Tensor values = operation.tensor(2);
    const bool right = operation.integer(0) != 0, shared = sequence.ndim == 1;
    const int64_t n = sequence.size(-1), step = sequence.stride(-1);
    const int64_t row = values.ndim ? values.size(-1) : 1;
    const Offsets to(output, 0, output.ndim), from(values, 0, values.ndim);
    const Offsets begins = shared ? Offsets() : Offsets(sequence, 0, sequence.ndim - 1);

    std::unique_ptr<Plan> plan;
    visit_dtype(values.dtype, [&]<class T>(Type<T>) {
        plan = make_plan([=](const Arguments &a) {
            int64_t *result = a.pointer<int64_t>(0);
            const T *sequences = a.pointer<T>(1), *data = a.pointer<T>(2);
            parallel_for(size_t(from.count()), 512, [&](size_t begin, size_t end) {
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                    const T *mine = shared ? sequences : sequences + begins(i / row);
                    result[to(i)] = search(mine, step, n, data[from(i)], right);
                }
            });
        });
    });
    return plan;
}

INFINI_KERNEL("searchsorted", plan_searchsorted);

}  // namespace
}  // namespace infini::cpu
