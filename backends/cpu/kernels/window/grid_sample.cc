// grid_sample: where the points of a row of the grid fall is found once, for all channels.
#include <cmath>
#include <cstring>
#include <string>

#include "convert.h"
#include "floats.h"
#include "threads.h"
#include "window/windows.h"

namespace infini::cpu {
namespace {

enum class Mode { kNearest = 1, kLinear = 2, kCubic = 4 };  // neighbours in each dimension
enum class Around { kZeros, kBorder, kReflection };

constexpr int64_t kPoints = 32;  // at a time
constexpr int kMostTaps = 16;    // 4 x 4, or 2 x 2 x 2

// The elements that points are made of, of an image without its channels.
template <class C>
struct Taps {
    int count = 0;
    int64_t place[kMostTaps][kPoints];  // -1: beyond the image
    C weight[kMostTaps][kPoints];
};

struct Sampler {
    Image x, y;
    int64_t grid_stride[kImageDims + 2] = {};  // batch, three dimensions, component
    int rank = 2;
    Mode mode = Mode::kLinear;
    Around around = Around::kZeros;
    bool corners = false;

    template <class T>
    void run(T *to, const T *from, const T *grid) const {
        const int64_t parts = (y.size[2] + kPoints - 1) / kPoints;
        const int64_t rows = y.batch * y.size[0] * y.size[1];
        const int64_t work = kPoints * (20 + 2 * y.channels * int64_t(mode) * int64_t(mode));
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / work));
        parallel_for(size_t(rows * parts), grain, [&](size_t begin, size_t end) {
            for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                const int64_t first = at % parts * kPoints, row = at / parts;
                const int64_t o1 = row % y.size[1], o0 = row / y.size[1] % y.size[0];
                const int64_t image = row / (y.size[1] * y.size[0]);
                const int64_t n = std::min(kPoints, y.size[2] - first);
                const T *points = grid + image * grid_stride[0] + o0 * grid_stride[1] +
                                  o1 * grid_stride[2] + first * grid_stride[3];
                some(to + image * y.batch_stride + o0 * y.stride[0] + o1 * y.stride[1] +
                         first * y.stride[2],
                     from + image * x.batch_stride, points, n);
            }
        });
    }

private:
    template <class T>
    void some(T *to, const T *from, const T *points, int64_t n) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        Taps<C> taps;
        for (int64_t p = 0; p < n; ++p) find(points + p * grid_stride[3], p, taps);
        for (int64_t c = 0; c < y.channels; ++c) {
            const T *channel = from + c * x.channel_stride;
            C sums[kPoints] = {};
            for (int t = 0; t < taps.count; ++t)
                for (int64_t p = 0; p < n; ++p) {
                    const int64_t place = taps.place[t][p];
                    const C value = place < 0 ? C(0) : load_element<C>(channel[place]);
                    sums[p] += mode == Mode::kNearest ? value : taps.weight[t][p] * value;
                }
            store_strided(to + c * y.channel_stride, sums, size_t(n), y.stride[2]);
        }
    }

    // What a point is made of: the neighbours of all dimensions, with the products of their
    // weights.
    template <class T, class C>
    void find(const T *point, int64_t p, Taps<C> &taps) const {
        int64_t place[kImageDims][4] = {};
        double weight[kImageDims][4] = {{1}, {1}, {1}};
        int counts[kImageDims] = {1, 1, 1};
        for (int d = kImageDims - rank; d < kImageDims; ++d) {
            const T component = point[(kImageDims - 1 - d) * grid_stride[4]];
            counts[d] = int(mode);
            along(d, load_element<double>(component), place[d], weight[d]);
        }
        int t = 0;
        for (int i = 0; i < counts[0]; ++i)
            for (int j = 0; j < counts[1]; ++j)
                for (int k = 0; k < counts[2]; ++k, ++t) {
                    const int64_t a = place[0][i], b = place[1][j], c = place[2][k];
                    const bool inside = a >= 0 && b >= 0 && c >= 0;
                    taps.place[t][p] =
                        inside ? a * x.stride[0] + b * x.stride[1] + c * x.stride[2] : -1;
                    taps.weight[t][p] = C(weight[0][i] * weight[1][j] * weight[2][k]);
                }
        taps.count = t;
    }

    // The neighbours along one dimension, -1 for those beyond it.
    void along(int d, double at, int64_t (&place)[4], double (&weight)[4]) const {
        const int64_t size = x.size[d];
        at = corners ? (at + 1) / 2 * double(size - 1) : ((at + 1) * double(size) - 1) / 2;
        if (mode != Mode::kCubic) at = placed(at, size);
        const double before = mode == Mode::kNearest ? std::nearbyint(at) : std::floor(at);
        const double share = at - before;
        if (mode == Mode::kNearest) {
            place[0] = element(before, size);
        } else if (mode == Mode::kLinear) {
            place[0] = element(before, size), place[1] = element(before + 1, size);
            weight[0] = 1 - share, weight[1] = share;
        } else {
            for (int k = 0; k < 4; ++k) place[k] = element(placed(before + k - 1, size), size);
            weight[0] = far(share + 1), weight[1] = near(share);
            weight[2] = near(1 - share), weight[3] = far(2 - share);
        }
    }

    static int64_t element(double at, int64_t size) {
        return at >= 0 && at < double(size) ? int64_t(at) : -1;
    }

    // What the padding makes of a place.
    double placed(double at, int64_t size) const {
        if (around == Around::kZeros) return at;
        const double last = double(size - 1);
        if (around == Around::kReflection) {
            const double low = corners ? 0 : -0.5, span = corners ? last : double(size);
            if (span <= 0) return 0;
            const double away = std::fabs(at - low), extra = std::fmod(away, span);
            const bool even = std::fmod(std::floor(away / span), 2.0) == 0;
            at = (even ? extra : span - extra) + low;
        }
        return at < 0 ? 0 : at > last ? last : at;
    }

    // Cubic convolution with a = -3/4, of neighbours at a distance below 1, and below 2.
    static double near(double x) { return (1.25 * x - 2.25) * x * x + 1; }
    static double far(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }
};

std::unique_ptr<Plan> plan_grid_sample(const Operation &operation) {
    Sampler s;
    const Tensor grid = operation.tensor(2);
    s.y = Image(operation.tensor(0)), s.x = Image(operation.tensor(1));
    s.rank = operation.tensor(0).ndim - 2;
    s.grid_stride[0] = grid.stride(0), s.grid_stride[4] = grid.stride(-1);
    for (int i = 0; i < s.rank; ++i)
        s.grid_stride[1 + kImageDims - s.rank + i] = grid.stride(1 + i);
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
