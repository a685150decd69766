// scatter: output = input, then output[.., index, ..] = / += / *= updates along one axis. Lines
// along the axis are independent of each other, so threads share the lines and a line keeps its
// order.
#include <algorithm>

#include "convert.h"
#include "copy/strided.h"
#include "index/offsets.h"
#include "kernel.h"
#include "threads.h"

namespace infini::cpu {
namespace {

enum Reduction { kAssign, kAdd, kMultiply };

struct Scatter {
    Lines output, indices, updates;
    int index_dtype, reduction;
    int64_t rows;

    // `data` are the values that are updated, at the places of the output's layout.
    template <class C, class T>
    void run(C *data, const void *index, const T *update) const {
        auto with = [&]<class I>(const I *places) {
            if constexpr (std::is_same_v<C, T>)
                if (reduction == kAssign) return some<kAssign>(data, places, update);
            if constexpr (std::is_floating_point_v<C>)
                reduction == kAdd ? some<kAdd>(data, places, update)
                                  : some<kMultiply>(data, places, update);
        };
        if (index_dtype == INFINI_DTYPE_I64)
            with(static_cast<const int64_t *>(index));
        else
            with(static_cast<const int32_t *>(index));
    }

    template <Reduction kReduction, class C, class I, class T>
    void some(C *data, const I *index, const T *update) const {
        const int64_t each = std::max<int64_t>(indices.size, 1);
        const size_t grain = size_t(std::max<int64_t>(1, 4096 / each));
        parallel_for(size_t(indices.count()), grain, [=, this](size_t begin, size_t end) {
            for (int64_t line = int64_t(begin); line < int64_t(end); ++line) {
                C *to = data + output.offsets(line);
                const I *places = index + indices.offsets(line);
                const T *from = update + updates.offsets(line);
                for (int64_t i = 0; i < indices.size; ++i) {
                    const int64_t row = places[i * indices.step];
                    if (uint64_t(row) >= uint64_t(rows)) continue;
                    C &element = to[row * output.step];
                    if constexpr (kReduction == kAssign)
                        element = from[i * updates.step];
                    else if constexpr (kReduction == kAdd)
                        element += load_element<C>(from[i * updates.step]);
                    else
                        element *= load_element<C>(from[i * updates.step]);
                }
            }
        });
    }
};

// Offsets of the lines that the updates have: their sizes, the output's strides.
Lines lines_of(const Tensor &output, const Tensor &updates, int axis) {
    return Lines({output.dtype, output.ndim, updates.shape, output.strides}, axis);
}

std::unique_ptr<Plan> plan_scatter(const Operation &operation) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor indices = operation.tensor(2), updates = operation.tensor(3);
    int axis = int(operation.integer(0));
    const int reduction = int(operation.integer(1));
    if (axis < 0) axis += output.ndim;
    for (int i = 0; i < output.ndim; ++i)
        if (indices.shape[i] > output.shape[i])
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                          "the indices have a dimension that is larger than the input's"};
    const Scatter scatter = {lines_of(output, updates, axis),
                             Lines(indices, axis),
                             Lines(updates, axis),
                             indices.dtype,
                             reduction,
                             output.size(axis)};
    const size_t bytes = infiniSizeOf(infiniDtype_t(output.dtype));
    const StridedCopy copy(bytes, output.ndim, output.shape, output.strides, input.strides);
    std::unique_ptr<Plan> plan;
    visit_dtype(output.dtype, [&]<class T>(Type<T>) {
        if constexpr (kIsFloat<T> && !std::is_same_v<T, f8>) {
            if (reduction == kAssign || !kIsSmallFloat<T>) {
                plan = make_plan([=](const Arguments &a) {
                    if (a.pointer<void>(0) != a.pointer<void>(1))
                        copy.run(a.pointer<void>(0), a.pointer<void>(1));
                    scatter.run(a.pointer<T>(0), a.pointer<void>(2), a.pointer<T>(3));
                });
                return;
            }
            // 16-bit sums and products are made in float and rounded once.
            int64_t dense[Shape::kMost], count = 1;
            for (int i = output.ndim - 1; i >= 0; --i) dense[i] = count, count *= output.shape[i];
            Scatter wide = scatter;
            const Tensor shadow = {INFINI_DTYPE_F32, output.ndim, output.shape, dense};
            wide.output = lines_of(shadow, updates, axis);
            const Offsets to(output, 0, output.ndim), from(input, 0, input.ndim);
            auto run = [=](const Arguments &a) {
                float *sums = reinterpret_cast<float *>(a.workspace());
                T *result = a.pointer<T>(0);
                const T *start = a.pointer<T>(1);
                auto all = [&](const auto &body) { parallel_for(size_t(count), 8192, body); };
                all([&](size_t begin, size_t end) {
                    if (from.even())
                        load_strided(sums + begin, start + int64_t(begin) * from.step(),
                                     end - begin, from.step());
                    else
                        for (size_t i = begin; i < end; ++i)
                            sums[i] = load_element<float>(start[from(int64_t(i))]);
                });
                wide.run(sums, a.pointer<void>(2), a.pointer<T>(3));
                all([&](size_t begin, size_t end) {
                    if (to.even())
                        store_strided(result + int64_t(begin) * to.step(), sums + begin,
                                      end - begin, to.step());
                    else
                        for (size_t i = begin; i < end; ++i)
                            store_element(result[to(int64_t(i))], sums[i]);
                });
            };
            plan = make_plan(run, size_t(count) * sizeof(float));
        }
    });
    return plan;
}

INFINI_KERNEL("scatter", plan_scatter);

}  // namespace
}  // namespace infini::cpu
