// scatter, scatter_add and scatter_reduce: output = input, then updates are folded into the
// elements at the indices along one axis. Lines along the axis are independent of each other, so
// threads divide the lines; if there are few long lines they divide the output's rows, and each
// reads all indices. Either way the updates of an element are applied in order.
#include <algorithm>

#include "copy/strided.h"
#include "index/scatter_few.h"
#include "index_case.h"
#include "kernel.h"

namespace infini::cpu {
namespace {

// The copy from input to output, and the distribution of the work.
struct Scattering {
    Scatter scatter;
    StridedCopy copy;
    Slots slots;

    void start(const Arguments &a) const {
        if (a.pointer<void>(0) != a.pointer<void>(1))
            copy.run(a.pointer<void>(0), a.pointer<void>(1));
    }
};

Scattering scattering(const Operation &operation) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor indices = operation.tensor(2), updates = operation.tensor(3);
    const int axis = scattered_dim(operation);
    const Tensor places = {output.dtype, output.ndim, indices.shape, output.strides};
    const int64_t none[Shape::kMost] = {};
    const Tensor repeated = {output.dtype, output.ndim, indices.shape, none};
    Scatter scatter = {Lines(places, axis),   Lines(indices, axis), Lines(updates, axis),
                       Lines(repeated, axis), indices.dtype,        output.size(axis)};
    // Lines are processed together if their elements are adjacent, or if they are short.
    constexpr int64_t kFar = 8;  // then neighbouring indices are on different cache lines
    if (axis != output.ndim - 1 || scatter.indices.size <= kBundle || scatter.indices.step >= kFar)
        scatter.bundle =
            std::max(scatter.indices.size, scatter.rows) <= kBundle ? kMostLines : kBundle;
    const int64_t threads = int64_t(thread_count());
    if (scatter.indices.size >= kLongLine && scatter.parts() < threads)
        scatter.shares = std::min({threads / std::max<int64_t>(1, scatter.parts()), kMostShares,
                                   std::max<int64_t>(1, scatter.rows)});
    const size_t bytes = infiniSizeOf(infiniDtype_t(output.dtype));
    const int64_t work = (scatter.part_rows() + scatter.indices.size) * scatter.bundle;
    return {scatter, StridedCopy(bytes, output.ndim, output.shape, output.strides, input.strides),
            Slots(scatter.parts(), work)};
}

// Scatters whole rows, if one index applies to a whole row: axis `axis`, dense after it.
struct RowScatter {
    Offsets output, updates;  // of the dimensions before the axis
    int64_t rows = 0, entries = 0, inner = 1, index_step = 0;
    int64_t output_step = 0, update_step = 0;
    int index_dtype = 0;
    bool fits = false;

    explicit RowScatter(const Operation &operation) {
        const Tensor to = operation.tensor(0), index = operation.tensor(2);
        const Tensor from = operation.tensor(3);
        const int axis = scattered_dim(operation);
        if (axis >= to.ndim - 1) return;
        for (int i = to.ndim - 1; i >= 0; --i) {
            if (i == axis) continue;
            if (index.shape[i] != to.shape[i] || (index.strides[i] != 0 && index.shape[i] > 1))
                return;
            if (i < axis) continue;
            if (to.shape[i] > 1 && (to.strides[i] != inner || from.strides[i] != inner)) return;
            inner *= to.shape[i];
        }
        rows = to.shape[axis], entries = index.shape[axis], index_step = index.strides[axis];
        output_step = to.strides[axis], update_step = from.strides[axis];
        output = Offsets(to, 0, axis);
        updates = Offsets({from.dtype, from.ndim, index.shape, from.strides}, 0, axis);
        index_dtype = index.dtype;
        fits = inner > 1;
    }

    template <class E>
    void run(E *to, const void *named, const E *from) const {
        const Indices index(index_dtype, named);
        const int64_t outer = output.count(), bytes = inner * int64_t(sizeof(E));
        const int64_t threads = int64_t(thread_count());
        // Each thread owns a range of rows, so that the last of several updates wins.
        const int64_t shares = outer < threads && entries * bytes > (64 << 10) ? threads : 1;
        const int64_t worth = (64 << 10) / std::max<int64_t>(1, entries * bytes / shares);
        parallel_for(size_t(outer * shares), size_t(std::max<int64_t>(1, worth)),
                     [&](size_t begin, size_t end) {
                         for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                             const int64_t share = at % shares;
                             const int64_t low = rows * share / shares;
                             const uint64_t most = uint64_t(rows * (share + 1) / shares - low);
                             E *target = to + output(at / shares) + low * output_step;
                             const E *source = from + updates(at / shares);
                             for (int64_t e = 0; e < entries; ++e) {
                                 const int64_t row = index[e * index_step] - low;
                                 if (uint64_t(row) >= most) continue;
                                 copy_short(
                                     reinterpret_cast<char *>(target + row * output_step),
                                     reinterpret_cast<const char *>(source + e * update_step),
                                     size_t(bytes));
                             }
                         }
                     });
    }
};

template <class E>
std::unique_ptr<Plan> plan_assign(const Scattering &s, const RowScatter &rows) {
    if (rows.fits)
        return make_plan([=](const Arguments &a) {
            s.start(a);
            rows.run(a.pointer<E>(0), a.pointer<void>(2), a.pointer<const E>(3));
        });
    return make_plan([=](const Arguments &a) {
        s.start(a);
        s.scatter.template direct<Fold::kAssign>(s.slots, a.pointer<E>(0), a.pointer<void>(2),
                                                 a.pointer<const E>(3), true);
    });
}

std::unique_ptr<Plan> plan_fold(const Scattering &s, int dtype, const Reduction &reduction) {
    std::unique_ptr<Plan> plan;
    visit_dtype(dtype, [&]<class T>(Type<T>) {
        if constexpr (!std::is_same_v<T, f8>) {
            using C = Sum<T>;
            if constexpr (std::is_same_v<C, T>)
                if (!reduction.mean) {
                    plan = make_plan([=](const Arguments &a) {
                        s.start(a);
                        visit_fold(reduction.fold, [&](auto fold) {
                            s.scatter.template direct<decltype(fold)::value>(
                                s.slots, a.pointer<T>(0), a.pointer<void>(2), a.pointer<const T>(3),
                                reduction.include_self);
                        });
                    });
                    return;
                }
            using Few = FewUpdates<T>;
            if (Few::fits(s.scatter)) {
                auto run = [=](const Arguments &a) {
                    s.start(a);
                    const Few few = {s.scatter, reduction};
                    if (s.scatter.index_dtype == INFINI_DTYPE_I64)
                        few.template run<int64_t>(s.slots, a);
                    else
                        few.template run<int32_t>(s.slots, a);
                };
                plan = make_plan(run, size_t(s.slots.count) * Few::room_bytes(s.scatter));
                return;
            }
            const size_t room = s.scatter.room_bytes(sizeof(C), reduction.mean);
            plan = make_plan(
                [=](const Arguments &a) {
                    s.start(a);
                    s.scatter.template through_room<T>(s.slots, reduction, a);
                },
                size_t(s.slots.count) * room);
        }
    });
    return plan;
}

std::unique_ptr<Plan> plan_scatter(const Operation &operation) {
    const Scattering s = scattering(operation);
    const int dtype = operation.tensor(0).dtype;
    const int64_t reduction = operation.integer(1);  // 0 assigns, 1 adds, 2 multiplies
    if (operation.is("scatter_reduce"))
        return plan_fold(s, dtype, reduction_of(dtype, reduction, operation.integer(2) != 0));
    if (reduction) return plan_fold(s, dtype, reduction_of(dtype, reduction - 1, true));
    const RowScatter rows(operation);
    switch (infiniSizeOf(infiniDtype_t(dtype))) {
        case 1:
            return plan_assign<uint8_t>(s, rows);
        case 2:
            return plan_assign<uint16_t>(s, rows);
        case 4:
            return plan_assign<uint32_t>(s, rows);
        default:
            return plan_assign<uint64_t>(s, rows);
    }
}

INFINI_KERNEL("scatter", plan_scatter);

}  // namespace
}  // namespace infini::cpu
