// Windows, convolutions and grids over the last dimensions, by the operators for images
// [N, C, ...].
#include <algorithm>
#include <cmath>

#include "lowering.h"
#include "size_arithmetic.h"

namespace infini::op {
namespace {

[[noreturn]] void refuse_size(const Lowering &lowering) {
    fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s: the output has another size",
         lowering.operation.name());
}

std::vector<int64_t> sizes_of(const View &view, int first) {
    return {view.size + first, view.size + view.ndim};
}

// A result and an input, with the dimensions before the last `rank` ones merged into two; a result
// whose strides do not allow it is written by a copy.
class Images {
public:
    Images(Lowering &lowering, int rank)
        : y(lowering.argument(0)), x(lowering.argument(1)), lowering_(lowering) {
        const int lead = y.ndim - rank;
        for (int i = lead; i < 2; ++i) y = y.expanded(0), x = x.expanded(0);
        if (lead <= 2) return;
        x = lowering.joined(x, 0, lead - 1);
        if (auto joined = y.joined(0, lead - 1)) {
            y = *joined;
        } else {
            apart_ = lowering.temporary(y.dtype, sizes_of(y, 0));
            y = *apart_.joined(0, lead - 1);
        }
    }
    void finish() {
        if (apart_) lowering_.step(Op::Rearrange, {lowering_.argument(0), apart_});
    }

    View y, x;

private:
    Lowering &lowering_;
    View apart_;
};

void lower_bins(Lowering &lowering, int rank, Op op) {
    if (lowering.argument(0).numel() == 0) return;
    Images images(lowering, rank);
    lowering.step(op, {images.y, images.x}, {sizes_of(images.y, 2), int64_t(rank)});
    images.finish();
}

// Means of windows; the zeros around the image count.
void lower_means(Lowering &lowering, std::vector<int64_t> kernel, std::vector<int64_t> stride,
                 std::vector<int64_t> padding) {
    const View y = lowering.argument(0);
    View x = lowering.argument(1);
    int64_t volume = 1;
    bool beyond = false;  // windows entirely in the padding: avg_pool has none
    std::vector<int64_t> pads;
    for (size_t d = 0; d < kernel.size(); ++d) {
        const int64_t room = minus(plus(x.size[d + 2], times(2, padding[d])), kernel[d]);
        if (y.size[d + 2] != plus(floor_divide(room, stride[d]), 1)) refuse_size(lowering);
        beyond = beyond || padding[d] > kernel[d] / 2;
        volume = times(volume, kernel[d]);
        pads.insert(pads.begin(), {padding[d], padding[d]});
    }
    if (y.numel() == 0) return;
    if (beyond) {
        std::vector<int64_t> sizes = sizes_of(x, 0);
        for (size_t d = 0; d < kernel.size(); ++d) sizes[d + 2] += 2 * padding[d];
        const View padded = lowering.temporary(x.dtype, sizes);
        lowering.step(Op::Pad, {padded, x}, {pads, int64_t(pads.size() * 4), "constant", 0.0});
        x = padded;
        std::fill(padding.begin(), padding.end(), 0);
    }
    lowering.step(Op::AvgPool, {y, x},
                  {kernel, stride, padding, int64_t(kernel.size()), false, true, volume});
}

void resample(Lowering &lowering, const View &y, const View &x, const char *mode, bool corners) {
    const std::vector<int64_t> sizes = sizes_of(y, 2);
    lowering.step(Op::Resample, {y, x}, {mode, sizes, nullptr, int64_t(sizes.size()), corners});
}

// A list of the call's attributes; `otherwise` where it was not given.
std::vector<int64_t> list_of(const Operation &operation, int attribute,
                             const std::vector<int64_t> &otherwise) {
    const int64_t *list = operation.list(attribute);
    return list ? std::vector<int64_t>(list, list + operation.count(attribute)) : otherwise;
}

}  // namespace

// ---- Pooling ------------------------------------------------------------------------------------

void lower_AdaptiveAvgPool1d(Lowering &lowering) { lower_bins(lowering, 1, Op::AdaptiveAvgPool); }
void lower_AdaptiveMaxPool1d(Lowering &lowering) { lower_bins(lowering, 1, Op::AdaptiveMaxPool); }
void lower_AdaptiveAvgPool3D(Lowering &lowering) { lower_bins(lowering, 3, Op::AdaptiveAvgPool); }

void lower_AvgPool1d(Lowering &lowering) {
    const Operation &operation = lowering.operation;
    lower_means(lowering, {operation.integer(0)}, {operation.integer(1)}, {operation.integer(2)});
}

void lower_AvgPool3d(Lowering &lowering) {
    const Operation &operation = lowering.operation;
    const std::vector<int64_t> kernel = list_of(operation, 0, {});
    lower_means(lowering, kernel, list_of(operation, 1, kernel), list_of(operation, 2, {0, 0, 0}));
}

// ---- Convolution --------------------------------------------------------------------------------

void lower_Conv(Lowering &lowering) {
    const Operation &operation = lowering.operation;
    auto list = [&](int attribute) {
        return operation.list(attribute) ? Attribute(list_of(operation, attribute, {}))
                                         : Attribute(nullptr);
    };
    Lowering::Tensors tensors;
    for (int i = 0; i < 4; ++i) tensors.push_back(lowering.argument(i));
    constexpr int64_t kGroups = 1;
    lowering.step(Op::GroupedConv, tensors,
                  {list(0), list(1), list(2), operation.integer(3), kGroups});
}

// ---- Resampling ---------------------------------------------------------------------------------

void lower_Interpolate(Lowering &lowering) {
    const Operation &operation = lowering.operation;
    const View y = lowering.argument(0), x = lowering.argument(1);
    const std::string mode = operation.text(0) ? operation.text(0) : "";
    const int rank = y.ndim - 2;
    const char *linear[] = {"linear", "bilinear", "trilinear"};
    if (mode != "nearest" && mode != "area" && mode != linear[rank - 1])
        fail(INFINI_STATUS_BAD_PARAM,
             "interpolate: not for this number of dimensions, or this mode");
    if (const int64_t *factor = operation.list(2); factor && operation.count(2) > 0) {
        const double scale = std::bit_cast<double>(*factor);
        for (int d = 2; d < y.ndim && scale > 0; ++d)
            if (double(y.size[d]) != std::floor(double(x.size[d]) * scale)) refuse_size(lowering);
    }
    if (y.numel() == 0) return;
    if (mode == "area") return lower_bins(lowering, rank, Op::AdaptiveAvgPool);
    resample(lowering, y, x, mode == "nearest" ? "nearest" : "linear", operation.integer(3) > 0);
}

void lower_UpsampleBilinear(Lowering &lowering) {
    if (lowering.argument(0).numel() == 0) return;
    Images images(lowering, 2);
    resample(lowering, images.y, images.x, "linear", lowering.operation.integer(0) > 0);
    images.finish();
}

// Elements are only moved, so integers are treated as floats of their size. No float has the size
// of a byte, but F16 represents every byte exactly.
void lower_UpsampleNearest(Lowering &lowering) {
    if (lowering.argument(0).numel() == 0) return;
    Images images(lowering, 2);
    View y = images.y, x = images.x;
    const size_t bytes = infiniSizeOf(infiniDtype_t(y.dtype));
    if (bytes == 1) {
        y = lowering.temporary(INFINI_DTYPE_F16, sizes_of(y, 0));
        x = lowering.converted(x, y.dtype);
    } else {
        y.dtype = x.dtype = bytes == 2   ? INFINI_DTYPE_F16
                            : bytes == 4 ? INFINI_DTYPE_F32
                                         : INFINI_DTYPE_F64;
    }
    resample(lowering, y, x, "nearest", false);
    if (bytes == 1) lowering.step(Op::Cast, {images.y, y});
    images.finish();
}

// ---- Patches and grids --------------------------------------------------------------------------

// A copy of overlapping windows: output [N, C, i, j, p, q] = image [N, C, p + i, q + j], with the
// strides and the dilations.
void lower_Unfold(Lowering &lowering) {
    const Operation &operation = lowering.operation;
    const View y = lowering.argument(0);
    View x = lowering.argument(1);
    const int64_t *kernel = operation.list(0), *stride = operation.list(1);
    const int64_t *padding = operation.list(2), *dilation = operation.list(3);
    const int64_t channels = x.size[1];
    int64_t counts[2];
    for (int d = 0; d < 2; ++d) {
        const int64_t reach = times(dilation[d], kernel[d] - 1);
        const int64_t room = minus(plus(x.size[d + 2], times(2, padding[d])), plus(reach, 1));
        counts[d] = plus(floor_divide(room, stride[d]), 1);
    }
    if (y.size[1] != times(channels, times(kernel[0], kernel[1])) ||
        y.size[2] != times(counts[0], counts[1]))
        refuse_size(lowering);
    if (y.numel() == 0) return;
    if (padding[0] > 0 || padding[1] > 0) {
        const View padded = lowering.temporary(
            x.dtype, {x.size[0], channels, x.size[2] + 2 * padding[0], x.size[3] + 2 * padding[1]});
        const std::vector<int64_t> pads{padding[1], padding[1], padding[0], padding[0]};
        lowering.step(Op::Pad, {padded, x}, {pads, int64_t(16), "constant", 0.0});
        x = padded;
    }
    const View to = y.split(2, {counts[0], counts[1]}).split(1, {channels, kernel[0], kernel[1]});
    View from = to;
    from.pointer = x.pointer, from.offset = x.offset;
    from.stride[0] = x.stride[0], from.stride[1] = x.stride[1];
    for (int d = 0; d < 2; ++d) {
        from.stride[2 + d] = x.stride[2 + d] * dilation[d];
        from.stride[4 + d] = x.stride[2 + d] * stride[d];
    }
    lowering.step(Op::Rearrange, {to, from});
}

namespace {

// Component k of each point is input[k, 0] x + input[k, 1] y + ... + input[k, rank]: one dimension
// is added at a time, the last one by the pass that writes the output.
void lower_grid(Lowering &lowering, int rank) {
    const View output = lowering.argument(0), input = lowering.argument(1);
    if (output.numel() == 0) return;
    const int dtype = sum_dtype(output.dtype);
    const bool corners = lowering.operation.integer(0) > 0;
    // Views have the output's dimensions, with strides of 0 where they do not depend on one.
    View sum = output;
    sum.pointer = input.pointer, sum.dtype = input.dtype;
    for (int d = 1; d <= rank; ++d) sum.stride[d] = 0, sum.size[d] = 1;
    sum.stride[0] = input.stride[0], sum.stride[rank + 1] = input.stride[1];
    View factor = sum;
    auto column = [&](int64_t i) {
        return input.stride[2] * i * int64_t(infiniSizeOf(infiniDtype_t(input.dtype)));
    };
    sum.offset = column(rank);
    for (int d = 1; d <= rank; ++d) {
        const int64_t count = output.size[d];
        View points = lowering.temporary(dtype, {count});
        const double step = 2.0 / double(corners ? std::max<int64_t>(count - 1, 1) : count);
        const double start = !corners ? step / 2 - 1.0 : count > 1 ? -1.0 : 0.0;
        lowering.step(Op::Arange, {points}, {start, step});
        factor.offset = column(rank - d);
        std::vector<int64_t> sizes = sizes_of(sum, 0);
        sizes[size_t(d)] = count;
        const View to = d == rank ? output : lowering.temporary(dtype, sizes);
        auto spread = [&](View view, const View &like) {
            for (int i = 0; i < view.ndim; ++i) view.size[i] = like.size[i];
            return view;
        };
        View along = to;
        along.pointer = points.pointer, along.offset = points.offset, along.dtype = points.dtype;
        for (int i = 0; i < along.ndim; ++i) along.stride[i] = i == d ? 1 : 0;
        lowering.step(Op::Addcmul, {to, spread(sum, to), spread(factor, to), along}, {1.0});
        sum = to;
        for (int i = d + 1; i <= rank; ++i) sum.stride[i] = 0;
    }
}

}  // namespace

void lower_AffineGrid(Lowering &lowering) { lower_grid(lowering, 2); }
void lower_AffineGrid3d(Lowering &lowering) { lower_grid(lowering, 3); }

}  // namespace infini::op
