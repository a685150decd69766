// scatter, scatter_add and scatter_reduce: output = input, then updates are folded into the
// elements at the indices along one axis. Lines along the axis are independent of each other, so
// threads divide the lines; if there are few long lines they divide the output's rows, and each
// reads all indices. Either way the updates of an element are applied in order.
#include <algorithm>

#include "convert.h"
#include "copy/strided.h"
#include "index/fold.h"
#include "index/offsets.h"
#include "index_case.h"
#include "kernel.h"
#include "sort/order.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kBundle = 16;       // lines processed together
constexpr int64_t kLongLine = 16384;  // entries of a line that justify several threads
constexpr int64_t kMostShares = 8;    // with more, reading all indices costs more than the updates

// Lines and rows of the output that are processed together.
struct Part {
    int64_t begin, end;  // lines
    int64_t low, rows;   // the first row, and how many

    int64_t lines() const { return end - begin; }
};

struct Scatter {
    Lines output, indices, updates;  // the output's lines have the sizes of the indices'
    Lines repeated;                  // one value as updates
    int index_dtype;
    int64_t rows;        // of the output
    int64_t bundle = 1;  // lines processed together
    int64_t shares = 1;  // ranges that the rows are divided into

    int64_t parts() const { return (indices.count() + bundle - 1) / bundle * shares; }
    int64_t part_rows() const { return (rows + shares - 1) / shares; }
    Part part(int64_t at) const {
        if (shares == 1) {  // avoids divisions, which take as long as a short line
            const int64_t begin = at * bundle;
            return {begin, std::min(begin + bundle, indices.count()), 0, rows};
        }
        const int64_t begin = at / shares * bundle, low = at % shares * part_rows();
        return {begin, std::min(begin + bundle, indices.count()), low,
                std::max<int64_t>(0, std::min(part_rows(), rows - low))};
    }

    // Folds a part into elements at data[places[line - begin] + (row - low) * step]; `counts`,
    // which may be null, has a stride of `bundle` between rows.
    template <Fold kFold, class C, class I, class T>
    void fold(const Part &part, C *data, const int64_t *places, int64_t step, const I *index,
              const T *update, int64_t *counts) const {
        int64_t index_at[kBundle], update_at[kBundle];
        const int64_t lines = part.lines();
        indices.offsets.fill(part.begin, lines, index_at);
        updates.offsets.fill(part.begin, lines, update_at);
        auto update_one = [&](int64_t i, const I *at, const T *from, C *to) {
            const int64_t row = int64_t(*at) - part.low;
            if (uint64_t(row) >= uint64_t(part.rows)) return;
            combine<kFold>(to[row * step], *from);
            if (counts) ++counts[row * bundle + i];
        };
        const int64_t index_step = indices.step, update_step = updates.step;
        if (!counts && (lines == 1 || index_step == 1)) {
            for (int64_t i = 0; i < lines; ++i)
                fold_line<kFold>(data + places[i], step, part.low, part.rows, index + index_at[i],
                                 update + update_at[i]);
            return;
        }
        for (int64_t entry = 0; entry < indices.size; ++entry)
            for (int64_t i = 0; i < lines; ++i)
                update_one(i, index + index_at[i] + entry * index_step,
                           update + update_at[i] + entry * update_step, data + places[i]);
    }
    template <Fold kFold, class C, class T>
    static void combine(C &element, const T &value) {
        if constexpr (kFold == Fold::kAssign)
            element = value;
        else
            element = folded<kFold>(element, load_element<C>(value));
    }
    template <Fold kFold, class C, class I, class T>
    void fold_line(C *to, int64_t step, int64_t low, int64_t most, const I *index,
                   const T *update) const {
        const int64_t size = indices.size;
        auto all = [=](int64_t to_step, int64_t index_step, int64_t update_step) {
            for (int64_t entry = 0; entry < size; ++entry) {
                const int64_t row = int64_t(index[entry * index_step]) - low;
                if (uint64_t(row) < uint64_t(most)) [[likely]]
                    combine<kFold>(to[row * to_step], update[entry * update_step]);
            }
        };
        if (step == 1 && indices.step == 1 && updates.step == 1) return all(1, 1, 1);
        all(step, indices.step, updates.step);
    }
    template <Fold kFold, class C, class T>
    void fold(const Part &part, C *data, const int64_t *places, int64_t step, const void *index,
              const T *update, int64_t *counts) const {
        if (index_dtype == INFINI_DTYPE_I64)
            fold<kFold>(part, data, places, step, static_cast<const int64_t *>(index), update,
                        counts);
        else
            fold<kFold>(part, data, places, step, static_cast<const int32_t *>(index), update,
                        counts);
    }

    // Sets the elements that will receive updates.
    template <class C>
    void clear(const Part &part, C *data, const int64_t *places, int64_t step, const void *index,
               const C &start) const {
        Scatter same = *this;
        same.updates = repeated;
        same.fold<Fold::kAssign>(part, data, places, step, index, &start, nullptr);
    }

    // Folds directly into the output.
    template <Fold kFold, class T>
    void direct(const Slots &slots, T *data, const void *index, const T *update,
                bool include_self) const {
        slots.run([&](int64_t at, int64_t) {
            const Part part = this->part(at);
            int64_t places[kBundle];
            output.offsets.fill(part.begin, part.lines(), places);
            T *to = data + part.low * output.step;
            if constexpr (kFold != Fold::kAssign)
                if (!include_self) clear(part, to, places, output.step, index, neutral<T>(kFold));
            fold<kFold>(part, to, places, output.step, index, update, nullptr);
        });
    }

    // Folds through a buffer per slot, in which lines are adjacent.
    size_t room_bytes(size_t element, bool counted) const {
        const size_t cells = size_t(part_rows() * bundle);
        return (cells * (element + (counted ? sizeof(int64_t) : 0)) + 63) / 64 * 64;
    }
    template <class T>
    void through_room(const Slots &slots, const Reduction &reduction, const Arguments &a) const {
        using C = Sum<T>;
        const void *index = a.pointer<void>(2);
        const T *update = a.pointer<T>(3);
        slots.run([&](int64_t part_at, int64_t slot) {
            const Part part = this->part(part_at);
            const int64_t cells = part.rows * bundle, lines = part.lines();
            T *data = a.pointer<T>(0) + part.low * output.step;
            char *room = a.workspace() + size_t(slot) * room_bytes(sizeof(C), reduction.mean);
            int64_t *counts = nullptr;
            if (reduction.mean) {
                counts = reinterpret_cast<int64_t *>(room);
                std::fill(counts, counts + cells, 0);
                room += size_t(cells) * sizeof(int64_t);
            }
            C *sums = reinterpret_cast<C *>(room);
            int64_t at[kBundle], places[kBundle];
            output.offsets.fill(part.begin, lines, at);
            for (int64_t i = 0; i < lines; ++i) places[i] = i;
            const bool dense = bundle == 1 && output.step == 1;
            if (dense) load_block(sums, data + at[0], size_t(part.rows));
            for (int64_t row = 0; row < part.rows && !dense; ++row)
                for (int64_t i = 0; i < lines; ++i)
                    sums[row * bundle + i] = load_element<C>(data[at[i] + row * output.step]);
            if (!reduction.include_self)
                clear(part, sums, places, bundle, index, neutral<C>(reduction.fold));
            visit_fold(reduction.fold, [&](auto fold_of) {
                fold<decltype(fold_of)::value>(part, sums, places, bundle, index, update, counts);
            });
            if (dense && !counts) return store_block(data + at[0], sums, size_t(part.rows));
            for (int64_t row = 0; row < part.rows; ++row)
                for (int64_t i = 0; i < lines; ++i) {
                    const int64_t cell = row * bundle + i;
                    if (counts && counts[cell] == 0) continue;
                    const C value = counts
                                        ? average(sums[cell], counts[cell] + reduction.include_self)
                                        : sums[cell];
                    store_element(data[at[i] + row * output.step], value);
                }
        });
    }
};

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
        scatter.bundle = kBundle;
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
