// pad: for each dimension, maps indices of the output to indices of the input.
#include "device/copy/pad.cuh"

#include <vector>

#include "kernels/dims.h"
#include "pad_case.h"

namespace infini::cuda {
namespace {

bool stays(const PadDim &dim) { return dim.before == 0 && dim.size == dim.from_size; }

// Dimensions, the outermost first; strides are in bytes.
std::unique_ptr<Plan> plan_dims(const std::vector<PadDim> &given, Beyond mode, double value,
                                int dtype, Device &device) {
    const int64_t element = int64_t(dtype_bytes(dtype));
    std::vector<PadDim> dims;
    int64_t total = 1;
    for (const PadDim &dim : given) {
        total *= dim.size;
        if (dim.size == 1 && stays(dim)) continue;
        if (!dims.empty() && stays(dim) && stays(dims.back()) &&
            dims.back().to == dim.to * dim.size && dims.back().from == dim.from * dim.size) {
            const int64_t size = dims.back().size * dim.size;
            dims.back() = {size, dim.to, 0, size, dim.from, {}};
        } else {
            dims.push_back(dim);
        }
    }
    if (total == 0) return make_empty_plan();
    if (dims.empty()) dims.push_back({1, element, 0, 1, element, {}});

    // Words of elements that are contiguous on both sides, or of several elements that are written
    // together.
    PadDim &inner = dims.back();
    int64_t word = element, pack = 1;
    const bool together = stays(inner) && inner.to == element && inner.from == element;
    if (inner.to == element) {
        int64_t bits = inner.size * element;
        for (size_t i = 0; i + 1 < dims.size(); ++i) {
            bits |= dims[i].to;
            if (together) bits |= dims[i].from;
        }
        word = common_word({bits});
        pack = together ? 1 : word / element;
        inner.size /= word / element;
        if (together) inner.from_size = inner.size, inner.to = inner.from = word;
    }

    PadParams params = {};
    params.value = value, params.mode = mode;
    params.ndim = int32_t(dims.size());
    params.count = 1;
    for (const PadDim &dim : dims) params.count *= dim.size;
    params.large = params.count >= int64_t(1) << 31;
    for (size_t i = 0; i < dims.size(); ++i) {
        PadDim &dim = params.dim[i] = dims[dims.size() - 1 - i];
        if (!params.large) dim.divider = Divider(uint32_t(dim.size));
    }
    const bool constants = mode == Beyond::kConstant;
    Source source("copy/pad.cuh");
    source.type("E", bytes_type(size_t(element))).type("W", word_type(word));
    source.constant("kPack", pack).constant("kConstants", constants);
    source.type("T", constants ? device_type(dtype) : "uint8_t");
    const auto kernel = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        PadParams here = params;
        here.to = a.pointer<void>(0), here.from = a.pointer<void>(1);
        here.whole =
            is_aligned(here.to, size_t(word)) && (pack > 1 || is_aligned(here.from, size_t(word)));
        return kernel->launch(stream, divide_up(here.count, 256), 256, here);
    });
}

std::unique_ptr<Plan> plan_pad(const Operation &operation, Device &device) {
    const Tensor to = operation.tensor(0), from = operation.tensor(1);
    const PadCase given(operation);
    const int64_t element = int64_t(dtype_bytes(to.dtype));
    std::vector<PadDim> dims;
    for (int d = 0; d < to.ndim; ++d)
        dims.push_back({to.shape[d],
                        to.strides[d] * element,
                        given.before[d],
                        from.shape[d],
                        from.strides[d] * element,
                        {}});
    return plan_dims(dims, Beyond(int(given.mode)), given.value, to.dtype, device);
}

INFINI_CUDA_KERNEL("pad", plan_pad);

}  // namespace
}  // namespace infini::cuda
