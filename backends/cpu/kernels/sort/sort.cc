// sort: sorts lines along a dimension, and gives the indices of their elements.
#include "index/offsets.h"
#include "kernel.h"
#include "sort/radix.h"
#include "sort/ranks.h"

namespace infini::cpu {
namespace {

// A key in the order of the values, with as few bits as possible: fewer digits to sort by.
template <class T>
constexpr int kKeyBits =
    std::is_same_v<T, boolean>                         ? 1
    : std::is_integral_v<T> || std::is_same_v<T, bf16> ? int(sizeof(T)) * 8
                                                       : int(sizeof(Key<T>)) * 8;
template <class T>
Key<T> short_key(T value) {
    if constexpr (std::is_same_v<T, boolean>)
        return value.bits != 0;
    else if constexpr (std::is_integral_v<T> && sizeof(T) < 4)
        return Key<T>(int32_t(value) - int32_t(std::numeric_limits<T>::min()));
    else if constexpr (std::is_same_v<T, bf16>)
        return order_key(value) >> 16;  // the lower half of the float is 0
    else
        return order_key(value);
}

std::unique_ptr<Plan> plan_sort(const Operation &operation) {
    const Tensor values = operation.tensor(0), indices = operation.tensor(1);
    const Tensor input = operation.tensor(2);
    int dim = int(operation.integer(0));
    const bool descending = operation.integer(1) != 0;
    // A 0-dimensional tensor is treated as a line of one element.
    const int64_t one[1] = {1};
    auto lines = [&](const Tensor &tensor) {
        if (tensor.ndim == 0) return Lines({tensor.dtype, 1, one, one}, 0);
        return Lines(tensor, dim < 0 ? dim + tensor.ndim : dim);
    };
    const Lines from = lines(input), to = lines(values), places = lines(indices);
    if (from.size > std::numeric_limits<int32_t>::max())
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "sort: lines of 2^31 elements or more"};
    const int64_t n = from.size, threads = int64_t(thread_count());
    Slots slots(from.count(), n * 8);
    slots.count = std::min(slots.count, threads);
    if (slots.lines < threads && n >= kWorthPieces) slots.count = 1;  // threads divide a line
    const bool alone = slots.count == 1;

    std::unique_ptr<Plan> plan;
    visit_dtype(input.dtype, [&]<class T>(Type<T>) {
        using K = Key<T>;
        using E = Entry<K>;
        auto run = [=](const Arguments &a) {
            T *value = a.pointer<T>(0);
            int64_t *place = a.pointer<int64_t>(1);
            const T *data = a.pointer<T>(2);
            constexpr K kAll = std::numeric_limits<K>::max() >> (int(sizeof(K)) * 8 - kKeyBits<T>);
            auto key = [=](T element) {
                const K found = short_key(element);
                return descending ? K(kAll ^ found) : found;
            };
            if (n <= kMostRanked)
                return slots.run([&](int64_t number, int64_t) {
                    sort_ranked(data + from.offsets(number), from.step, value + to.offsets(number),
                                to.step, place + places.offsets(number), places.step, n, key);
                });
            slots.run([&](int64_t number, int64_t slot) {
                E *entries = reinterpret_cast<E *>(a.workspace()) + slot * 2 * n;
                auto each = [&](auto body) {
                    auto range = [&](size_t begin, size_t end) {
                        for (int64_t i = int64_t(begin); i < int64_t(end); ++i) body(i);
                    };
                    alone ? parallel_for(size_t(n), 16384, range) : range(0, size_t(n));
                };
                const T *line = data + from.offsets(number);
                each([&](int64_t i) { entries[i] = {key(line[i * from.step]), i}; });
                if (alone)
                    sort_in_parallel(entries, entries + n, n);
                else
                    sort_entries(entries, entries + n, n);
                T *sorted = value + to.offsets(number);
                int64_t *stood = place + places.offsets(number);
                each([&](int64_t i) {
                    const int64_t at = entries[i].place();
                    sorted[i * to.step] = line[at * from.step];
                    stood[i * places.step] = at;
                });
            });
        };
        const int64_t room = n <= kMostRanked ? 0 : slots.count * 2 * n;
        plan = make_plan(run, size_t(room) * sizeof(E));
    });
    return plan;
}

INFINI_KERNEL("sort", plan_sort);

}  // namespace
}  // namespace infini::cpu
