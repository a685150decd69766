// cummax and cummin: the extreme so far and its index, the last among equals; NaN propagates.
#include "convert.h"
#include "kernel.h"
#include "scan/bands.h"
#include "threads.h"

namespace infini::cpu {
namespace {

// The type in which elements are compared.
template <class T>
using Compared = std::conditional_t<
    kIsSmallFloat<T>, float,
    std::conditional_t<std::is_same_v<T, boolean> || (std::is_integral_v<T> && sizeof(T) < 4),
                       int32_t, T>>;

template <class C, bool least>
bool reaches(C x, C best) {
    return (least ? x <= best : x >= best) || x != x;
}

template <class T, bool least>
void scan_line(const T *from, int64_t from_step, T *values, int64_t value_step, int64_t *places,
               int64_t place_step, int64_t n) {
    using C = Compared<T>;
    T held = from[0];
    C best = load_element<C>(held);
    int64_t place = 0;
    for (int64_t i = 0; i < n; ++i) {
        const T element = from[i * from_step];
        const C x = load_element<C>(element);
        if (reaches<C, least>(x, best)) held = element, best = x, place = i;
        values[i * value_step] = held;
        places[i * place_step] = place;
    }
}

template <class T, bool least>
void scan_band(const T *from, int64_t from_step, T *values, int64_t value_step, int64_t *places,
               int64_t place_step, int64_t n, int64_t width) {
    using C = Compared<T>;
    C best[kBand], line[kBand];
    int64_t place[kBand] = {};
    load_block(best, from, size_t(width));
    for (int64_t i = 0; i < n; ++i) {
        load_block(line, from + i * from_step, size_t(width));
        for (int64_t k = 0; k < width; ++k) {
            const bool taken = reaches<C, least>(line[k], best[k]);
            best[k] = taken ? line[k] : best[k];
            place[k] = taken ? i : place[k];
        }
        store_block(values + i * value_step, best, size_t(width));
        std::copy_n(place, width, places + i * place_step);
    }
}

template <bool least>
std::unique_ptr<Plan> plan_extremes(const Operation &operation) {
    const Bands<3> bands({operation.tensor(0), operation.tensor(1), operation.tensor(2)},
                         int(operation.integer(0)));
    std::unique_ptr<Plan> plan;
    visit_dtype(operation.tensor(2).dtype, [&]<class T>(Type<T>) {
        plan = make_plan([=](const Arguments &a) {
            if (bands.size == 0) return;
            parallel_for(size_t(bands.number()), bands.grain(), [&](size_t begin, size_t end) {
                for (size_t index = begin; index < end; ++index) {
                    const Band<3> band = bands[int64_t(index)];
                    T *values = a.pointer<T>(0) + band.at[0];
                    int64_t *places = a.pointer<int64_t>(1) + band.at[1];
                    const T *from = a.pointer<T>(2) + band.at[2];
                    if (band.width == 1)
                        scan_line<T, least>(from, bands.step[2], values, bands.step[0], places,
                                            bands.step[1], bands.size);
                    else
                        scan_band<T, least>(from, bands.step[2], values, bands.step[0], places,
                                            bands.step[1], bands.size, band.width);
                }
            });
        });
    });
    return plan;
}

std::unique_ptr<Plan> plan_extreme(const Operation &operation) {
    return operation.is("cummin") ? plan_extremes<true>(operation)
                                  : plan_extremes<false>(operation);
}

INFINI_KERNEL("cumulative_extremes", plan_extreme);

}  // namespace
}  // namespace infini::cpu
