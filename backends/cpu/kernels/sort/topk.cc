// topk, kthvalue and lower_median: the first entries of lines along a dimension.
#include "index/offsets.h"
#include "kernel.h"
#include "sort/order.h"
#include "sort/select.h"

namespace infini::cpu {
namespace {

void store_place(int dtype, void *data, int64_t at, int64_t place) {
    if (dtype == INFINI_DTYPE_I32)
        static_cast<int32_t *>(data)[at] = int32_t(place);
    else
        static_cast<int64_t *>(data)[at] = place;
}

void refuse_long(int64_t size) {
    if (size > std::numeric_limits<int32_t>::max())
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "lines of 2^31 elements or more"};
}

std::unique_ptr<Plan> plan_topk(const Operation &operation) {
    const Tensor values = operation.tensor(0), indices = operation.tensor(1);
    const Tensor input = operation.tensor(2);
    const int64_t k = operation.integer(0);
    const int dim = int(operation.integer(1));
    const bool largest = operation.integer(2) != 0, sorted = operation.integer(3) != 0;
    for (int i = 0; i < input.ndim; ++i) {
        const int64_t expected = i == dim ? k : input.shape[i];
        if (values.shape[i] != expected || indices.shape[i] != expected)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                          "topk: an output does not have the input's sizes with k along dim"};
    }
    const Lines from(input, dim), to(values, dim), places(indices, dim);
    refuse_long(from.size);
    const int index_dtype = indices.dtype;
    const Slots slots(from.count(), from.size);
    const int64_t room = first_room(from.size, k);

    std::unique_ptr<Plan> plan;
    visit_dtype(input.dtype, [&]<class T>(Type<T>) {
        using E = Entry<Key<T>>;
        auto run = [=](const Arguments &a) {
            T *value = a.pointer<T>(0);
            void *place = a.pointer<void>(1);
            const T *data = a.pointer<T>(2);
            if (k == 0) return;
            slots.run([&](int64_t number, int64_t slot) {
                E *found = reinterpret_cast<E *>(a.workspace()) + slot * room;
                const Line<T> line = {data + from.offsets(number), from.step, from.size, largest};
                find_first(line, k, found);
                if (sorted) std::sort(found, found + k);
                T *value_line = value + to.offsets(number);
                const int64_t place_line = places.offsets(number);
                for (int64_t i = 0; i < k; ++i) {
                    value_line[i * to.step] = line.data[found[i].place() * line.step];
                    store_place(index_dtype, place, place_line + i * places.step, found[i].place());
                }
            });
        };
        plan = make_plan(run, size_t(slots.count * room) * sizeof(E));
    });
    return plan;
}

std::unique_ptr<Plan> plan_kthvalue(const Operation &operation) {
    const Tensor input = operation.tensor(2);
    const bool median = operation.is("lower_median");
    const int64_t first = operation.integer(0);  // k, or whether a median skips NaN
    int dim = int(operation.integer(1));
    if (dim < 0) dim += input.ndim;
    // A 0-dimensional input is treated as a line of one element.
    const int64_t one[1] = {1};
    const Tensor shaped = input.ndim ? input : Tensor{input.dtype, 1, one, one};
    const Lines from(shaped, input.ndim ? dim : 0);
    refuse_long(from.size);
    if (!median && (first < 1 || first > from.size))
        throw Refusal{INFINI_STATUS_BAD_PARAM, "kthvalue: k is not in 1 .. the size along dim"};
    if (median && from.size < 1)
        throw Refusal{INFINI_STATUS_BAD_PARAM,
                      "lower_median: dim is empty: expected an element or more"};
    const int64_t rank = !median ? first - 1 : first ? kNanMedian : kMedian;
    const int index_dtype = operation.tensor(1).dtype;
    const Slots slots(from.count(), from.size);
    std::unique_ptr<Plan> plan;
    visit_dtype(input.dtype, [&]<class T>(Type<T>) {
        using K = Key<T>;
        auto run = [=](const Arguments &a) {
            T *value = a.pointer<T>(0);
            void *place = a.pointer<void>(1);
            const T *data = a.pointer<T>(2);
            slots.run([&](int64_t number, int64_t slot) {
                K *room = reinterpret_cast<K *>(a.workspace()) + slot * 2 * from.size;
                const Line<T> line = {data + from.offsets(number), from.step, from.size, false};
                const int64_t at = select_place(line, rank, room);
                value[number] = line.data[at * line.step];
                store_place(index_dtype, place, number, at);
            });
        };
        plan = make_plan(run, size_t(slots.count * 2 * from.size) * sizeof(K));
    });
    return plan;
}

std::unique_ptr<Plan> plan_largest(const Operation &operation) {
    return operation.is("kthvalue") ? plan_kthvalue(operation) : plan_topk(operation);
}

INFINI_KERNEL("topk", plan_largest);
INFINI_KERNEL("lower_median", plan_kthvalue);

}  // namespace
}  // namespace infini::cpu
