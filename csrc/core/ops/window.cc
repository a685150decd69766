// Windows over images whose results have given sizes.
#include "../layout.h"
#include "infinicore/ops/adaptive_avg_pool1d.hpp"
#include "infinicore/ops/adaptive_avg_pool3d.hpp"
#include "infinicore/ops/affine_grid.hpp"
#include "infinicore/ops/conv2d.hpp"
#include "infinicore/ops/upsample_bilinear.hpp"
#include "infinicore/ops/upsample_nearest.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

namespace {

// The shape of images with other sizes after the batch and the channels.
Shape with_sizes(const char *function, const Tensor &input, const std::vector<int64_t> &sizes) {
    if (input->ndim() < sizes.size())
        refuse_shape(function, "input", input, std::to_string(sizes.size()) + " sizes of images");
    Shape shape = input->shape();
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < 0) fail(function, "output_size is negative: expected 0 or more");
        shape[shape.size() - sizes.size() + i] = Size(sizes[i]);
    }
    return shape;
}

}  // namespace

Tensor adaptive_avg_pool1d(Tensor input, int64_t output_size) {
    INFINI_NEED_TENSORS(input);
    Tensor output = empty_like(input, with_sizes("adaptive_avg_pool1d", input, {output_size}));
    AdaptiveAvgPool1d::execute(output, input);
    return output;
}

void adaptive_avg_pool3d_(Tensor y, Tensor x) {
    INFINI_NEED_TENSORS(y, x);
    if (y->ndim() < 3) refuse_shape("adaptive_avg_pool3d_", "y", y, "three sizes of images");
    const std::vector<int64_t> sizes(y->shape().end() - 3, y->shape().end());
    emit("adaptive_avg_pool3d", {y, x}, {list(sizes)});
}

// size: [N, C, H, W], or [N, C, D, H, W] for volumes.
Tensor affine_grid(Tensor theta, const std::vector<int64_t> &size, bool align_corners) {
    INFINI_NEED_TENSORS(theta);
    if (size.size() != 4 && size.size() != 5)
        fail("affine_grid",
             "size has " + std::to_string(size.size()) + " numbers: expected 4 or 5");
    Shape shape(size.begin(), size.end());
    shape.erase(shape.begin() + 1);
    shape.push_back(size.size() - 2);
    Tensor grid = empty_like(theta, std::move(shape));
    emit(size.size() == 4 ? "affine_grid" : "affine_grid3d", {grid, theta},
         {integer(align_corners)});
    return grid;
}

void Conv2d::execute(Tensor output, Tensor input, Tensor weight, Tensor bias, const size_t *pads,
                     const size_t *strides, const size_t *dilations, size_t n) {
    need_tensors("Conv2d::execute", {{"output", output}, {"input", input}, {"weight", weight}});
    const auto copied = [&](const size_t *values) {
        return std::vector<size_t>(values, values + n);
    };
    conv2d_(output, input, weight, bias, copied(pads), copied(strides), copied(dilations));
}

Tensor upsample_bilinear(Tensor input, std::vector<int64_t> output_size, bool align_corners) {
    INFINI_NEED_TENSORS(input);
    Tensor output = empty_like(input, with_sizes("upsample_bilinear", input, output_size));
    upsample_bilinear_(output, input, align_corners);
    return output;
}

Tensor upsample_nearest(Tensor input, const std::vector<int64_t> &output_size) {
    INFINI_NEED_TENSORS(input);
    Tensor output = empty_like(input, with_sizes("upsample_nearest", input, output_size));
    upsample_nearest_(output, input);
    return output;
}

}  // namespace infinicore::op
