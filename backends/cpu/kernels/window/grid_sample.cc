// grid_sample: the sampling positions of some points, wherever they are in rows of the grid, are
// computed once for all channels.
#include <cmath>
#include <cstring>
#include <string>

#include "convert.h"
#include "floats.h"
#include "index/offsets.h"
#include "threads.h"
#include "window/windows.h"

namespace infini::cpu {
namespace {

enum class Mode { kNearest = 1, kLinear = 2, kCubic = 4 };  // neighbours per dimension
enum class Around { kZeros, kBorder, kReflection };

constexpr int64_t kPoints = 32;  // processed together
constexpr int kMostTaps = 16;    // 4 x 4, or 2 x 2 x 2

// The image elements (of one channel) that contribute to each point.
template <class C, class I>
struct Taps {
    using Inside = typename IntegerOf<sizeof(C)>::type;
    int count = 0;
    I place[kMostTaps][kPoints];        // 0 for those outside the image
    Inside inside[kMostTaps][kPoints];  // -1, or 0 outside
    C weight[kMostTaps][kPoints];
};

struct Sampler {
    Image x, y;
    Offsets points, made;                        // of a point in the grid and in the output
    int64_t grid_batch = 0, grid_component = 0;  // strides of the grid
    int rank = 2;
    Mode mode = Mode::kLinear;
    Around around = Around::kZeros;
    bool corners = false;

    template <class T>
    void run(T *to, const T *from, const T *grid) const {
        int64_t most = 0;
        for (int d = 0; d < kImageDims; ++d) most += (x.size[d] - 1) * std::abs(x.stride[d]);
        if (most < (int64_t(1) << 31))
            run_with<int32_t>(to, from, grid);
        else
            run_with<int64_t>(to, from, grid);
    }

    template <class I, class T>
    void run_with(T *to, const T *from, const T *grid) const {
        const int64_t parts = (points.count() + kPoints - 1) / kPoints;
        const int64_t work = kPoints * (20 + 2 * y.channels * int64_t(mode) * int64_t(mode));
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / work));
        parallel_for(size_t(y.batch * parts), grain, [&](size_t begin, size_t end) {
            for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                const int64_t first = at % parts * kPoints, image = at / parts;
                some<I>(to + image * y.batch_stride, from + image * x.batch_stride,
                        grid + image * grid_batch, first,
                        std::min(kPoints, points.count() - first));
            }
        });
    }

private:
    // Computes kPoints points from `first`, of which n are stored: loops have a constant length.
    template <class I, class T>
    void some(T *to, const T *from, const T *grid, int64_t first, int64_t n) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        Taps<C, I> taps;
        int64_t places[kPoints];
        points.fill(first, n, places);
        find(grid, places, n, taps);
        made.fill(first, n, places);
        if (x.elements() == 0) taps.count = 0;
        for (int64_t c = 0; c < y.channels; ++c) {
            const T *channel = from + c * x.channel_stride;
            C sums[kPoints];
            for (int64_t p = 0; p < kPoints; p += int64_t(kWidth<C>)) {
                Vec<C> sum{};
                for (int t = 0; t < taps.count; ++t) {
                    const Vec<C> value = gather<C>(channel, taps.place[t] + p);
                    const Vec<C> inside = as<Vec<C>>(bits(value) & load(taps.inside[t] + p));
                    sum = fma(load(taps.weight[t] + p), inside, sum);
                }
                store(sums + p, sum);
            }
            T *image = to + c * y.channel_stride;
            if (made.even())
                store_strided(image + places[0], sums, size_t(n), made.step());
            else
                for (int64_t p = 0; p < n; ++p) store_element(image[places[p]], sums[p]);
        }
    }

    template <class C, class T, class I>
    INFINI_SIMD static Vec<C> gather(const T *from, const I *place) {
#if defined(__AVX512F__)
        if constexpr (std::is_same_v<T, float> && sizeof(I) == 4)
            return Vec<C>(_mm512_i32gather_ps(_mm512_loadu_si512(place), from, 4));
#endif
        Vec<C> values;
        for (size_t i = 0; i < kWidth<C>; ++i) values[i] = load_element<C>(from[place[i]]);
        return values;
    }

    // The taps of points: the neighbours in all dimensions, with the products of their weights.
    template <class T, class C, class I>
    void find(const T *grid, const int64_t *places, int64_t n, Taps<C, I> &taps) const {
        Neighbours all[kImageDims];
        for (int d = kImageDims - rank; d < kImageDims; ++d) {
            const T *component = grid + (kImageDims - 1 - d) * grid_component;
            double at[kPoints] = {};
            for (int64_t p = 0; p < n; ++p) at[p] = load_element<double>(component[places[p]]);
            along(d, at, all[d]);
        }
        taps.count = 0;
        for (int i = 0; i < all[0].count; ++i)
            for (int j = 0; j < all[1].count; ++j)
                for (int k = 0; k < all[2].count; ++k) {
                    const int t = taps.count++;
                    for (int64_t p = 0; p < kPoints; ++p) {
                        taps.place[t][p] =
                            I(all[0].place[i][p] + all[1].place[j][p] + all[2].place[k][p]);
                        taps.inside[t][p] = typename Taps<C, I>::Inside(
                            all[0].inside[i][p] & all[1].inside[j][p] & all[2].inside[k][p]);
                        taps.weight[t][p] =
                            C(all[0].weight[i][p] * all[1].weight[j][p] * all[2].weight[k][p]);
                    }
                }
    }

    // The neighbours of points along one dimension, as contributions to their offsets.
    struct Neighbours {
        int count = 1;
        int64_t place[4][kPoints], inside[4][kPoints];
        double weight[4][kPoints];

        Neighbours() {
            for (int64_t p = 0; p < kPoints; ++p)
                place[0][p] = 0, inside[0][p] = -1, weight[0][p] = 1;
        }
    };

    void along(int d, double *at, Neighbours &to) const {
        const int64_t size = x.size[d];
        const double last = double(size - 1), most = double(size);
        double before[kPoints], share[kPoints] = {};
        for (int64_t p = 0; p < kPoints; ++p)
            at[p] = corners ? (at[p] + 1) / 2 * last : ((at[p] + 1) * most - 1) / 2;
        if (mode != Mode::kCubic) put_inside(at, size);
        if (mode == Mode::kNearest)
            for (int64_t p = 0; p < kPoints; ++p) before[p] = std::nearbyint(at[p]);
        else
            for (int64_t p = 0; p < kPoints; ++p)
                before[p] = std::floor(at[p]), share[p] = at[p] - before[p];
        to.count = int(mode);
        for (int k = 0; k < to.count; ++k) {
            double place[kPoints];
            const double away = mode == Mode::kCubic ? k - 1 : k;
            for (int64_t p = 0; p < kPoints; ++p) place[p] = before[p] + away;
            if (mode == Mode::kCubic) put_inside(place, size);
            for (int64_t p = 0; p < kPoints; ++p) {
                const bool inside = place[p] >= 0 && place[p] < most;
                to.inside[k][p] = inside ? -1 : 0;
                to.place[k][p] = int64_t(inside ? place[p] : 0.0) * x.stride[d];
            }
        }
        if (mode == Mode::kLinear)
            for (int64_t p = 0; p < kPoints; ++p)
                to.weight[0][p] = 1 - share[p], to.weight[1][p] = share[p];
        if (mode == Mode::kCubic)
            for (int64_t p = 0; p < kPoints; ++p) {
                to.weight[0][p] = far(share[p] + 1), to.weight[1][p] = near(share[p]);
                to.weight[2][p] = near(1 - share[p]), to.weight[3][p] = far(2 - share[p]);
            }
    }

    // Applies the padding mode to coordinates.
    void put_inside(double *at, int64_t size) const {
        if (around == Around::kZeros) return;
        const double last = double(size - 1);
        if (around == Around::kReflection) {
            const double low = corners ? 0 : -0.5, span = corners ? last : double(size);
            if (span <= 0) {
                std::fill(at, at + kPoints, 0.0);
                return;
            }
            for (int64_t p = 0; p < kPoints; ++p) {
                const double away = std::fabs(at[p] - low), turns = std::floor(away / span);
                const double extra = away - turns * span;
                const bool even = turns == 2 * std::floor(turns / 2);
                at[p] = (even ? extra : span - extra) + low;
            }
        }
        for (int64_t p = 0; p < kPoints; ++p) {
            const double positive = at[p] < 0 ? 0 : at[p];
            at[p] = positive > last ? last : positive;
        }
    }

    // Cubic convolution with a = -3/4, for neighbours at distances below 1 and below 2.
    static double near(double x) { return (1.25 * x - 2.25) * x * x + 1; }
    static double far(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }
};

std::unique_ptr<Plan> plan_grid_sample(const Operation &operation) {
    Sampler s;
    const Tensor grid = operation.tensor(2);
    s.y = Image(operation.tensor(0)), s.x = Image(operation.tensor(1));
    s.rank = operation.tensor(0).ndim - 2;
    s.grid_batch = grid.stride(0), s.grid_component = grid.stride(-1);
    s.points = Offsets(grid, 1, 1 + s.rank);
    s.made = Offsets(operation.tensor(0), 2, 2 + s.rank);
    const std::string mode = operation.text(0) ? operation.text(0) : "";
    if (mode == "bilinear") {
        s.mode = Mode::kLinear;
    } else if (mode == "nearest") {
        s.mode = Mode::kNearest;
    } else if (mode == "bicubic" && s.rank == 2) {
        s.mode = Mode::kCubic;
    } else {
        throw Refusal{INFINI_STATUS_BAD_PARAM,
                      "grid_sample: mode is \"" + mode +
                          "\": expected \"bilinear\", \"nearest\" or, for two dimensions, "
                          "\"bicubic\""};
    }
    s.around = Around(operation.integer(1)), s.corners = operation.integer(2) != 0;
    return make_plan([s](const Arguments &a) {
        if (s.y.batch * s.y.channels * s.y.elements() == 0) return;
        auto run = [&]<class T>(Type<T>) {
            s.run(a.pointer<T>(0), a.pointer<const T>(1), a.pointer<const T>(2));
        };
        visit_float(s.y.dtype, run);
    });
}

INFINI_KERNEL("grid_sample", plan_grid_sample);

}  // namespace
}  // namespace infini::cpu
