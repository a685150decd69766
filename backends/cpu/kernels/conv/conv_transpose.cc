// conv_transpose: the filters times the image give windows [features * taps, places], which are
// then summed up where they overlap.
#include <string>

#include "../matmul/matmul.h"
#include "floats.h"
#include "kernel.h"
#include "threads.h"
#include "window/fold_rows.h"

namespace infini::cpu {
namespace {

constexpr int64_t kRow = 512;          // elements of a row at a time
constexpr int64_t kWindows = 4 << 20;  // bytes of windows at a time, if one feature has less

class TransposedConvolution {
public:
    int dtype = 0;
    FoldShape shape;
    int64_t images = 0, groups = 1;
    int64_t channels = 0, features = 0;  // of a group

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
    // Of some groups, and so many features of each.
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
    size_t windows_ = 0, scratch_ = 0;   // bytes of the workspace
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

std::unique_ptr<Plan> plan_conv_transpose(const Operation &op) {
    TransposedConvolution conv;
    read_shape(op, int(op.integer(4)), conv.shape);
    conv.dtype = op.tensor(0).dtype;
    conv.images = op.tensor(1).size(0), conv.groups = op.integer(5);
    conv.channels = op.tensor(1).size(1) / conv.groups, conv.features = op.tensor(2).size(1);
    const bool bias = bool(op.tensor(3));
    if (op.tensor(0).numel() == 0) return make_plan([](const Arguments &) {});
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
