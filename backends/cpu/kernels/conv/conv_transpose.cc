// conv_transpose: the filters times the image give windows [features * taps, positions], which are
// then summed where they overlap.
#include <numeric>
#include <string>
#include <vector>

#include "../matmul/matmul.h"
#include "conv_taps.h"
#include "floats.h"
#include "kernel.h"
#include "threads.h"
#include "window/fold_rows.h"

namespace infini::cpu {
namespace {

constexpr int64_t kRow = 512;          // elements of a row processed at a time
constexpr int64_t kWindows = 4 << 20;  // bytes of windows at a time, if one feature needs less

class TransposedConvolution {
public:
    int dtype = 0;
    FoldShape shape;
    int64_t images = 0, groups = 1;
    int64_t channels = 0, features = 0;  // per group

    void prepare() {
        const int64_t bytes = dtype == INFINI_DTYPE_F64 ? 8 : 4;
        const int64_t plane =
            std::max<int64_t>(1, shape.tap_count() * shape.window_count() * bytes);
        const int64_t most = std::max<int64_t>(1, kWindows / plane);
        features_ = std::clamp<int64_t>(most, 1, features);
        groups_ = std::clamp<int64_t>(most / features_, 1, groups);
        if (features_ < features) groups_ = 1;
        windows_ = (size_t(groups_ * features_ * plane) + 63) / 64 * 64;
        for (int64_t some : {groups_, groups % groups_})
            for (int64_t few : {features_, features % features_})
                if (some && few)
                    scratch_ = std::max(scratch_, matmul_workspace(product(some, few)));
    }

    size_t workspace() const { return windows_ + scratch_; }

    template <class T>
    void run(T *y, const T *x, const T *w, const T *bias, char *memory) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        C *windows = reinterpret_cast<C *>(memory);
        const int64_t taps = shape.tap_count(), places = shape.window_count();
        for (int64_t image = 0; image < images; ++image)
            for (int64_t group = 0; group < groups; group += groups_)
                for (int64_t feature = 0; feature < features; feature += features_) {
                    const int64_t some = std::min(groups_, groups - group);
                    const int64_t few = std::min(features_, features - feature);
                    Matmul p = product(some, few);
                    p.a.data = w + (group * channels * features + feature) * taps;
                    p.b.data = x + (image * groups + group) * channels * places;
                    p.c.data = windows;
                    matmul(p, memory + windows_);
                    const int64_t first = group * features + feature;
                    add_up(y + (image * groups * features + first) * shape.image_size(), windows,
                           bias ? bias + first : nullptr, some * few);
                }
    }

private:
    // The product of `some` groups with `few` features each.
    Matmul product(int64_t some, int64_t few) const {
        const int64_t taps = shape.tap_count(), places = shape.window_count();
        Matmul p;
        p.batch = some, p.m = few * taps, p.n = places, p.k = channels;
        p.a = {nullptr, dtype, 1, features * taps, channels * features * taps};
        p.b = {nullptr, dtype, places, 1, channels * places};
        const int summed = dtype == INFINI_DTYPE_F64 ? INFINI_DTYPE_F64 : INFINI_DTYPE_F32;
        p.c = {nullptr, summed, places, 1, few * taps * places};
        return p;
    }

    template <class T, class C>
    void add_up(T *y, const C *windows, const T *bias, int64_t planes) const {
        const int64_t width = shape.image[2], parts = (width + kRow - 1) / kRow;
        const int64_t lines = shape.image[0] * shape.image[1];
        const int64_t taps = shape.tap_count(), places = shape.window_count();
        const size_t grain =
            size_t(std::max<int64_t>(1, 16384 / (std::min(width, kRow) * taps + 1)));
        parallel_for(size_t(planes * lines * parts), grain, [&](size_t begin, size_t end) {
            for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                const int64_t first = at % parts * kRow, line = at / parts % lines;
                const int64_t plane = at / parts / lines, n = std::min(kRow, width - first);
                C sums[kRow];
                std::fill(sums, sums + n, bias ? load_element<C>(bias[plane]) : C(0));
                add_windows(shape, windows + plane * taps * places, places, 1,
                            line / shape.image[1], line % shape.image[1], first, n, sums);
                store_block(y + (plane * lines + line) * width + first, sums, size_t(n));
            }
        });
    }

    int64_t groups_ = 1, features_ = 1;  // at a time
    size_t windows_ = 0, scratch_ = 0;   // bytes in the workspace
};

void read_shape(const Operation &op, int dims, FoldShape &s) {
    const Tensor y = op.tensor(0), x = op.tensor(1), w = op.tensor(2);
    const int64_t *pads = op.list(0), *steps = op.list(1), *gaps = op.list(2), *more = op.list(3);
    constexpr int64_t kMost = int64_t(1) << 31;
    for (int i = 0; i < dims; ++i) {
        const int d = FoldShape::kDims - dims + i;
        s.windows[d] = x.size(i + 2), s.image[d] = y.size(i + 2), s.taps[d] = w.size(i + 2);
        if (pads) s.pad[d] = pads[i];
        if (steps) s.step[d] = steps[i];
        if (gaps) s.dilation[d] = gaps[i];
        const int64_t extra = more ? more[i] : 0;
        if (s.pad[d] < 0 || s.pad[d] > kMost || s.step[d] <= 0 || s.step[d] > kMost ||
            s.dilation[d] <= 0 || s.dilation[d] > kMost)
            throw Refusal{INFINI_STATUS_BAD_PARAM,
                          "conv_transpose: a pad is negative, or a stride or dilation is not "
                          "positive"};
        if (extra < 0 || extra >= std::max(s.step[d], s.dilation[d]))
            throw Refusal{INFINI_STATUS_BAD_PARAM,
                          "conv_transpose: output_pads has to be less than the stride or the "
                          "dilation"};
        if (s.windows[d] > kMost || s.taps[d] > kMost || s.taps[d] == 0)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                          "conv_transpose: an image or window is empty or too large"};
        const int64_t size = (s.windows[d] - 1) * s.step[d] - 2 * s.pad[d] +
                             s.dilation[d] * (s.taps[d] - 1) + extra + 1;
        if (s.image[d] != size)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                          "conv_transpose: spatial dimension " + std::to_string(i) +
                              " of y has size " + std::to_string(s.image[d]) + ": expected " +
                              std::to_string(size)};
    }
}

// Outputs whose positions have the same remainders modulo the steps are a convolution with the taps
// that reach them, in reverse order.
std::vector<TapConvolution> by_remainders(const TransposedConvolution &conv) {
    const FoldShape &f = conv.shape;
    std::vector<TapConvolution> all;
    const int64_t remainders = f.step[0] * f.step[1] * f.step[2];
    for (int64_t each = 0; each < remainders; ++each) {
        TapShape s;
        s.dtype = conv.dtype, s.images = conv.images, s.groups = conv.groups;
        s.channels = conv.channels, s.features = conv.features;
        s.w_feature = f.tap_count(), s.w_channel = conv.features * s.w_feature;
        s.w_group = conv.channels * s.w_channel;
        int64_t rest = each, stride = 1;
        for (int d = TapShape::kDims - 1; d >= 0; stride *= f.taps[d], --d) {
            const int64_t remainder = rest % f.step[d];
            rest /= f.step[d];
            s.in[d] = f.windows[d], s.out[d] = f.image[d];
            s.out_first[d] = remainder, s.out_step[d] = f.step[d];
            s.grid[d] = std::max<int64_t>((f.image[d] - remainder + f.step[d] - 1) / f.step[d], 0);
            // The last tap t with (remainder + pad - t * dilation) % step == 0, and the number of
            // such taps.
            const int64_t apart = f.step[d] / std::gcd(f.step[d], f.dilation[d]);
            const int64_t at = remainder + f.pad[d];
            int64_t tap = f.taps[d] - 1;
            while (tap >= 0 && (at - tap * f.dilation[d]) % f.step[d] != 0) --tap;
            s.taps[d] = tap < 0 ? 0 : tap / apart + 1;
            s.dilation[d] = f.dilation[d] * apart / f.step[d];
            s.first[d] = tap < 0 ? 0 : (at - tap * f.dilation[d]) / f.step[d];
            s.w_first += std::max<int64_t>(tap, 0) * stride, s.w_tap[d] = -apart * stride;
        }
        if (s.grid_size() > 0) all.emplace_back(s);
    }
    return all;
}

// Null if computing the products of all windows and adding them up is faster.
std::unique_ptr<Plan> plan_taps(const TransposedConvolution &conv, bool bias) {
    constexpr int64_t kMostRemainders = 64;
    const FoldShape &f = conv.shape;
    for (int64_t step : f.step)
        if (step > kMostRemainders) return nullptr;
    const bool thin = conv.groups > 1 && conv.features < 8;
    if (!thin && conv.dtype == INFINI_DTYPE_F64) return nullptr;
    // Each remainder reads the whole image again.
    const int64_t remainders = f.step[0] * f.step[1] * f.step[2];
    if (remainders > kMostRemainders) return nullptr;
    if (remainders > 1 && conv.channels * remainders > 4 * conv.features * f.tap_count())
        return nullptr;
    std::vector<TapConvolution> all = by_remainders(conv);
    size_t most = 0;
    for (const TapConvolution &each : all) {
        if (!each.fits() || (!thin && each.efficiency() < 0.4)) return nullptr;
        most = std::max(most, each.workspace());
    }
    auto run = [=, all = std::move(all)](const Arguments &a) {
        visit_float(conv.dtype, [&]<class T>(Type<T>) {
            for (const TapConvolution &each : all)
                each.run(a.pointer<T>(0), a.pointer<const T>(1), a.pointer<const T>(2),
                         bias ? a.pointer<const T>(3) : nullptr, a.workspace());
        });
    };
    return make_plan(run, most);
}

std::unique_ptr<Plan> plan_conv_transpose(const Operation &op) {
    TransposedConvolution conv;
    read_shape(op, int(op.integer(4)), conv.shape);
    conv.dtype = op.tensor(0).dtype;
    conv.images = op.tensor(1).size(0), conv.groups = op.integer(5);
    conv.channels = op.tensor(1).size(1) / conv.groups, conv.features = op.tensor(2).size(1);
    const bool bias = bool(op.tensor(3));
    if (op.tensor(0).numel() == 0) return make_plan([](const Arguments &) {});
    if (std::unique_ptr<Plan> plan = plan_taps(conv, bias)) return plan;
    conv.prepare();
    auto run = [=](const Arguments &a) {
        auto as = [&]<class T>(Type<T>) {
            conv.run(a.pointer<T>(0), a.pointer<const T>(1), a.pointer<const T>(2),
                     bias ? a.pointer<const T>(3) : nullptr, a.workspace());
        };
        visit_float(conv.dtype, as);
    };
    return make_plan(run, conv.workspace());
}

INFINI_KERNEL("conv_transpose", plan_conv_transpose);

}  // namespace
}  // namespace infini::cpu
