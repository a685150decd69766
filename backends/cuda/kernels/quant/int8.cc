// int8 quantisation: per_channel_quant_int8 and per_tensor_quant_int8.
#include "device/quant/int8.cuh"

#include <algorithm>

#include "kernels/dims.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_per_channel(const Operation &operation, Device &device) {
    const Tensor x = operation.tensor(3);
    const int64_t element = int64_t(dtype_bytes(x.dtype)), columns = x.size(1);
    const int64_t n = common_word({columns * element}) / element;
    const bool symmetric = !operation.tensor(2);
    ChannelParams params = {};
    params.rows = x.size(0), params.vectors = columns / n;
    Source source("quant/int8.cuh:per_channel");
    source.type("T", x.dtype).constant("kVector", n).constant("kSymmetric", symmetric);
    const auto kernel = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        ChannelParams here = params;
        here.out = a.pointer<int8_t>(0), here.scales = a.pointer<float>(1);
        here.zeros = symmetric ? nullptr : a.pointer<float>(2);
        here.x = a.pointer<void>(3);
        here.whole = is_aligned(here.out, size_t(n)) && is_aligned(here.x, size_t(n * element));
        return kernel->launch(stream, here.rows, 256, here);
    });
}

// Two tensors of the same shape in vectors, if their layouts allow it.
struct Elements {
    TensorParams params = {};
    int64_t n = 1, out_word = 1, x_word = 1, blocks = 0;

    Elements(const Tensor &out, const Tensor &x, Device &device) {
        Dims<2> dims;
        for (int d = 0; d < out.ndim; ++d) dims.add(out.shape[d], out.strides[d], x.strides[d]);
        const int64_t out_bytes = int64_t(dtype_bytes(out.dtype));
        const int64_t x_bytes = int64_t(dtype_bytes(x.dtype)),
                      larger = std::max(out_bytes, x_bytes);
        if (dims.ndim && dims.inner().stride[0] == 1 && dims.inner().stride[1] == 1) {
            Dims<2>::Dim inner = dims.take_inner();
            int64_t bits = inner.size;
            for (int d = 0; d < dims.ndim; ++d)
                bits |= dims.dim[d].stride[0] | dims.dim[d].stride[1];
            n = common_word({bits * larger}) / larger;
            dims.add(inner.size / n, n, n);
        }
        params.vectors = dims.places();
        out_word = n * out_bytes, x_word = n * x_bytes;
        blocks = device.blocks_for(params.vectors.count, 256, 16);
    }
    Source source(int dtype, int step) const {
        Source source("quant/int8.cuh:per_tensor");
        return source.type("T", dtype).constant("kVector", n).constant("kStep", step);
    }
    TensorParams with(void *out, const void *x, float *scale) const {
        TensorParams here = params;
        here.out = out, here.x = x, here.scale = scale;
        here.whole_out = is_aligned(out, size_t(out_word));
        here.whole_x = is_aligned(x, size_t(x_word));
        return here;
    }
};

std::unique_ptr<Plan> plan_per_tensor(const Operation &operation, Device &device) {
    if (operation.tensor(2)) refuse_parameter("x_zero must be absent: codes have no zero point");
    const Tensor x = operation.tensor(3);
    const Elements all(operation.tensor(0), x, device);
    const auto search = device.compile(all.source(x.dtype, 0));
    const auto scale = device.compile(all.source(x.dtype, 1));
    const auto code = device.compile(all.source(x.dtype, 2));
    auto run = [=](const Arguments &a, const Stream &stream) {
        TensorParams here = all.with(a.pointer<void>(0), a.pointer<void>(3), a.pointer<float>(1));
        here.parts = reinterpret_cast<float *>(a.workspace());
        here.part_count = int32_t(all.blocks);
        if (a.integer(0) == 0) {
            INFINI_CUDA_TRY(search->launch(stream, all.blocks, 256, here));
            INFINI_CUDA_TRY(scale->launch(stream, 1, 256, here));
        }
        return code->launch(stream, all.blocks, 256, here);
    };
    return make_plan(run, size_t(all.blocks) * sizeof(float));
}

std::unique_ptr<Plan> plan_quant_int8(const Operation &operation, Device &device) {
    return operation.is("per_channel_quant_int8") ? plan_per_channel(operation, device)
                                                  : plan_per_tensor(operation, device);
}

INFINI_CUDA_KERNEL("quant_int8", plan_quant_int8);

}  // namespace
}  // namespace infini::cuda
