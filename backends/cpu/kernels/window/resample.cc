// resample: the rows of the input around a row of outputs are blended into one, element by element;
// then the outputs are blended from that row.
#include <cmath>

#include "convert.h"
#include "threads.h"
#include "window/windows.h"

namespace infini::cpu {
namespace {

constexpr int64_t kSpan = 1024;  // elements of a row buffer on the stack

using Mode = ResampleMode;

// For each output of a dimension, the input positions that contribute, in ascending order, and
// their weights.
template <class C>
struct Axis {
    int64_t taps = 1;                  // capacity per output
    std::vector<int64_t> count = {1};  // number of positions per output
    std::vector<int64_t> place = {0};
    std::vector<C> weight = {1};
};

template <class C>
Axis<C> axis_of(const ResampleCase &given, int dim, int64_t in, int64_t out) {
    const Mode mode = given.mode;
    const double scale = given.scale(dim);
    Axis<C> axis;
    axis.taps = mode == Mode::kLinear ? 2 : mode == Mode::kCubic ? 4 : 1;
    axis.place.clear(), axis.weight.clear();
    axis.count.assign(size_t(out), axis.taps);
    const double step = scale > 0 ? 1 / std::max(scale, 1e-300) : double(in) / double(out);
    auto add = [&](double at, double weight) {
        const double last = double(in - 1);
        axis.place.push_back(at > 0 ? int64_t(std::min(at, last)) : 0);
        axis.weight.push_back(C(weight));
    };
    auto near = [](double x) { return (1.25 * x - 2.25) * x * x + 1; };
    auto far = [](double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; };
    for (int64_t o = 0; o < out; ++o) {
        if (mode == Mode::kNearest || mode == Mode::kExact) {
            const float middle = float(double(o) + (mode == Mode::kExact ? 0.5 : 0.0));
            add(std::floor(middle * float(step)), 1);
            continue;
        }
        double source = (double(o) + 0.5) * step - 0.5;
        if (given.corners) source = double(o * (in - 1)) / double(std::max<int64_t>(out - 1, 1));
        if (mode == Mode::kLinear) source = source > 0 ? source : 0;
        const double before = std::floor(source), share = source - before;
        if (mode == Mode::kLinear) {
            add(before, 1 - share), add(before + 1, share);
        } else {
            add(before - 1, far(share + 1)), add(before, near(share));
            add(before + 1, near(1 - share)), add(before + 2, far(2 - share));
        }
    }
    return axis;
}

// The same for antialiased modes: all elements around an output, with the weights of a triangle, or
// of cubic convolution with a = -1/2.
template <class C>
Axis<C> smooth_axis_of(const ResampleCase &given, int dim, int64_t in, int64_t out) {
    const Mode mode = given.mode;
    const double scale = given.scale(dim);
    double step = scale > 0 ? 1 / std::max(scale, 1e-300) : double(in) / double(out);
    if (given.corners) step = out > 1 ? double(in - 1) / double(out - 1) : 0;
    const double wide = std::max(step, 1.0), reach = mode == Mode::kSmoothCubic ? 2 * wide : wide;
    const double most = double(in);
    auto weight = [&](double x) {
        x = std::fabs(x);
        if (mode == Mode::kSmoothLinear) return std::max(1 - x, 0.0);
        if (x >= 2) return 0.0;
        return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
    };
    auto begin_of = [&](double middle) {
        return int64_t(std::clamp(middle - reach + 0.5, 0.0, most));
    };
    auto end_of = [&](double middle) {
        return int64_t(std::clamp(middle + reach + 0.5, 0.0, most));
    };
    Axis<C> axis;
    for (int64_t o = 0; o < out; ++o) {
        const double middle = step * (double(o) + 0.5);
        axis.taps = std::max<int64_t>(axis.taps, end_of(middle) - begin_of(middle));
    }
    if (axis.taps * out > ResampleCase::kMostTaps) ResampleCase::refuse_large();
    axis.count.assign(size_t(out), 0);
    axis.place.assign(size_t(out * axis.taps), 0), axis.weight.assign(size_t(out * axis.taps), 0);
    for (int64_t o = 0; o < out; ++o) {
        const double middle = step * (double(o) + 0.5);
        const int64_t begin = begin_of(middle), count = end_of(middle) - begin;
        double sum = 0;
        axis.count[size_t(o)] = count;
        for (int64_t k = 0; k < count; ++k)
            sum += weight((double(begin + k) - middle + 0.5) / wide);
        for (int64_t k = 0; k < axis.taps; ++k) {
            const size_t at = size_t(o * axis.taps + k);
            const int64_t last = std::min(begin + std::max<int64_t>(count, 1), in) - 1;
            axis.place[at] = std::min(begin + k, last);
            if (k < count)
                axis.weight[at] = C(weight((double(begin + k) - middle + 0.5) / wide) / sum);
        }
    }
    return axis;
}

// Outputs [begin, end) of a row, computed from the elements [low, high).
struct Part {
    int64_t begin, end, low, high;
};

template <class T, class C>
struct Resampler {
    Image x, y;
    Axis<C> axes[kImageDims];
    std::vector<Part> parts;
    bool moves = false;   // elements are copied without blending
    bool smooth = false;  // windows differ in size

    void prepare() {
        const Axis<C> &last = axes[2];
        const int64_t outputs = y.size[2], taps = last.taps;
        for (int64_t o = 0; o < outputs;) {
            Part part{o, o, last.place[size_t(o * taps)], 0};
            for (; o < outputs && o - part.begin < kSpan / 2; ++o) {
                const int64_t high = last.place[size_t((o + 1) * taps - 1)] + 1;
                if (high - part.low > kSpan && o > part.begin) break;
                part.high = std::max(part.high, high);
            }
            part.end = o;
            parts.push_back(part);
        }
    }

    void run(T *to, const T *from) const {
        const int64_t count = int64_t(parts.size());
        const int64_t rows = y.batch * y.channels * y.size[0] * y.size[1];
        const Part &some = parts[size_t(count / 2)];
        const int64_t work = (some.high - some.low + some.end - some.begin) *
                             (moves ? 1 : 2 * axes[0].taps * axes[1].taps);
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work)));
        parallel_for(size_t(rows * count), grain, [&](size_t begin, size_t end) {
            RowParts at(y, count, int64_t(begin));
            for (size_t left = end - begin; left > 0; --left, ++at)
                row(to, from, at, parts[size_t(at.part)]);
        });
    }

private:
    // Calls body(row, its weight) for the input rows that contribute to a row of outputs.
    template <class Body>
    void each_row(const T *from, int64_t o0, int64_t o1, const Body &body) const {
        for (int64_t i = 0; i < axes[0].count[size_t(o0)]; ++i)
            for (int64_t j = 0; j < axes[1].count[size_t(o1)]; ++j) {
                const size_t first = size_t(o0 * axes[0].taps + i);
                const size_t second = size_t(o1 * axes[1].taps + j);
                const C weight = axes[0].weight[first] * axes[1].weight[second];
                body(
                    from + axes[0].place[first] * x.stride[0] + axes[1].place[second] * x.stride[1],
                    weight);
            }
    }

    void row(T *to, const T *from, const RowParts &at, const Part &part) const {
        const int64_t o1 = at.o1, o0 = at.o0, channel = at.channel, image = at.batch;
        to += image * y.batch_stride + channel * y.channel_stride + o0 * y.stride[0] +
              o1 * y.stride[1] + part.begin * y.stride[2];
        from += image * x.batch_stride + channel * x.channel_stride;
        const int64_t n = part.end - part.begin, wide = part.high - part.low;
        const int64_t taps = axes[2].taps, *count = axes[2].count.data() + part.begin;
        const int64_t *place = axes[2].place.data() + part.begin * taps;
        if (moves)
            return each_row(from, o0, o1, [&](const T *row, C) {
                if (y.stride[2] == 1 && x.stride[2] == 1)
                    for (int64_t o = 0; o < n; ++o) to[o] = row[place[o]];
                else
                    for (int64_t o = 0; o < n; ++o)
                        to[o * y.stride[2]] = row[place[o] * x.stride[2]];
            });
        C values[kSpan / 2];
        const C *weight = axes[2].weight.data() + part.begin * taps;
        if (wide <= kSpan && wide <= 2 * taps * n) {
            C blended[kSpan], buffer[kSpan];
            bool more = false;
            each_row(from, o0, o1, [&](const T *row, C share) {
                add_row(blended, row + part.low * x.stride[2], share, wide, more, buffer);
                more = true;
            });
            if (!more) std::fill(blended, blended + wide, C(0));
            if (taps == 2 && !smooth)
                blend<2>(values, blended, part.low, place, weight, n, taps, count);
            else if (taps == 4 && !smooth)
                blend<4>(values, blended, part.low, place, weight, n, taps, count);
            else
                blend<0>(values, blended, part.low, place, weight, n, taps, count);
        } else {  // most elements are unused, or a window exceeds the stack buffer
            for (int64_t o = 0; o < n; ++o, place += taps, weight += taps) {
                C sum = 0;
                each_row(from, o0, o1, [&](const T *row, C share) {
                    C part_sum = 0;
                    for (int64_t t = 0; t < count[o]; ++t)
                        part_sum += weight[t] * load_element<C>(row[place[t] * x.stride[2]]);
                    sum += share * part_sum;
                });
                values[o] = sum;
            }
        }
        store_strided(to, values, size_t(n), y.stride[2]);
    }

    void add_row(C *__restrict sums, const T *from, C weight, int64_t n, bool more,
                 C *buffer) const {
        const C *row = buffer;
        if constexpr (std::is_same_v<T, C>) row = x.stride[2] == 1 ? from : buffer;
        if (row == buffer) load_strided(buffer, from, size_t(n), x.stride[2]);
        if (more)
            for (int64_t i = 0; i < n; ++i) sums[i] += weight * row[i];
        else
            for (int64_t i = 0; i < n; ++i) sums[i] = weight * row[i];
    }

    // `known`: the number of taps, or 0.
    template <int known>
    static void blend(C *__restrict to, const C *row, int64_t low, const int64_t *place,
                      const C *weight, int64_t n, int64_t taps, const int64_t *count) {
        taps = known ? known : taps;
        for (int64_t o = 0; o < n; ++o, place += taps, weight += taps) {
            C sum = 0;
            for (int64_t t = 0; t < (known ? known : count[o]); ++t)
                sum += row[place[t] - low] * weight[t];
            to[o] = sum;
        }
    }
};

template <class T, class C>
std::unique_ptr<Plan> plan_as(const Operation &operation) {
    Resampler<T, C> resampler;
    resampler.y = Image(operation.tensor(0)), resampler.x = Image(operation.tensor(1));
    const Image &x = resampler.x, &y = resampler.y;
    const ResampleCase given(operation, x.size, y.size);
    resampler.moves = given.moves(), resampler.smooth = given.smooth();
    if (operation.tensor(0).numel() == 0) return make_plan([](const Arguments &) {});
    for (int d = kImageDims - given.rank; d < kImageDims; ++d)
        resampler.axes[d] = given.smooth() ? smooth_axis_of<C>(given, d, x.size[d], y.size[d])
                                           : axis_of<C>(given, d, x.size[d], y.size[d]);
    resampler.prepare();
    return make_plan([resampler = std::move(resampler)](const Arguments &a) {
        resampler.run(a.pointer<T>(0), a.pointer<const T>(1));
    });
}

std::unique_ptr<Plan> plan_resample(const Operation &operation) {
    switch (operation.tensor(0).dtype) {
        case INFINI_DTYPE_F16:
            return plan_as<f16, float>(operation);
        case INFINI_DTYPE_BF16:
            return plan_as<bf16, float>(operation);
        case INFINI_DTYPE_F32:
            return plan_as<float, float>(operation);
        default:
            return plan_as<double, double>(operation);
    }
}

INFINI_KERNEL("resample", plan_resample);

}  // namespace
}  // namespace infini::cpu
