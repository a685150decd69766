#include "kernels/conv/conv_dnn.h"

#include <algorithm>
#include <limits>

#include "kernels/copy/strided.h"
#include "kernels/dnn/graph.h"

namespace infini::cuda {
namespace {

constexpr size_t kMostWorkspace = size_t(1) << 30;

// Where biases are added: in F32 before sums are rounded, by the same engine; or y contains them
// before the convolution, which then adds to it.
enum class Bias { kNone, kFused, kInitial };

dnn::Type data_type(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_F16:
            return dnn::kHalf;
        case INFINI_DTYPE_BF16:
            return dnn::kBfloat16;
        case INFINI_DTYPE_F32:
            return dnn::kFloat;
        default:
            return dnn::kDouble;
    }
}

// Null if the library has no engine. The tensors are y, x, w and, if fused, the bias.
std::unique_ptr<dnn::Engine> make_engine(const ConvolutionShape &s, Bias bias, int device) try {
    const bool has_depth = s.in[0] != 1 || s.out[0] != 1 || s.taps[0] != 1;
    const int first = has_depth ? 0 : 1;  // it requires at least two spatial dimensions
    const auto all = [&](int64_t outer, int64_t inner, const int64_t *spatial) {
        dnn::Sizes sizes{outer, inner};
        sizes.insert(sizes.end(), spatial + first, spatial + 3);
        return sizes;
    };
    dnn::Graph graph(device);
    const dnn::Type type = data_type(s.dtype);
    const dnn::Type sums = type == dnn::kDouble ? dnn::kDouble : dnn::kFloat;
    const int64_t rows = s.groups * (s.transposed ? s.channels : s.features);
    const int64_t one[3] = {1, 1, 1};
    const auto y = graph.dense(type, all(s.images, s.groups * s.features, s.out));
    const auto x = graph.dense(type, all(s.images, s.groups * s.channels, s.in));
    const auto w = graph.dense(type, all(rows, s.transposed ? s.features : s.channels, s.taps));
    const dnn::Steps steps{{s.pad + first, s.pad + 3},
                           {s.step + first, s.step + 3},
                           {s.dilation + first, s.dilation + 3}};
    if (bias == Bias::kFused) {
        const auto added = graph.dense(type, all(1, s.groups * s.features, one));
        const auto sum = graph.inside(sums, y.sizes);
        graph.convolve(s.transposed, x, w, sum, steps, sums, 0);
        graph.apply_to(y, dnn::kAdd, sum, added);
    } else {
        graph.convolve(s.transposed, x, w, y, steps, sums, bias == Bias::kInitial ? 1 : 0);
    }
    dnn::Limits limits;
    limits.workspace = kMostWorkspace;
    limits.tensor_cores = dtype_bytes(s.dtype) == 2;
    // Of transposed convolutions our own kernels are faster than its last resort.
    limits.fallback = !s.transposed;
    return graph.finish(limits);
} catch (const dnn::Declined &) {
    return nullptr;
}

}  // namespace

std::unique_ptr<Plan> plan_conv_dnn(const ConvolutionShape &s, Device &device) {
    const int64_t filters = s.groups * s.features * s.channels * s.tap_count();
    const int64_t sizes[] = {s.images * s.groups * s.channels * s.in_size(),
                             s.images * s.groups * s.features * s.out_size(), filters};
    for (int64_t size : sizes)
        if (size == 0 || size > std::numeric_limits<int>::max()) return nullptr;
    if (!dnn::Graph::can()) return nullptr;
    Bias bias = s.bias ? Bias::kFused : Bias::kNone;
    std::shared_ptr<const dnn::Engine> engine;
    if (s.dtype != INFINI_DTYPE_F64 || !s.bias) engine = make_engine(s, bias, device.index);
    StridedCopy fill;
    // Sums of 16-bit floats would be rounded twice: before and after they are added to y.
    if (!engine && s.bias && dtype_bytes(s.dtype) > 2) {
        bias = Bias::kInitial;
        engine = make_engine(s, bias, device.index);
        const int64_t features = s.groups * s.features, size = s.out_size();
        const int64_t y_sizes[3] = {s.images, features, size}, from[3] = {0, 1, 0};
        const int64_t to[3] = {features * size, size, 1};
        if (engine) fill = StridedCopy(device, dtype_bytes(s.dtype), 3, y_sizes, to, from);
    }
    if (!engine) return nullptr;
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            if (bias == Bias::kInitial)
                if (Error error = fill.run(stream, a.pointer<void>(0), a.pointer<void>(3)))
                    return error;
            std::vector<void *> pointers{a.pointer<void>(0), a.pointer<void>(1),
                                         a.pointer<void>(2)};
            if (bias == Bias::kFused) pointers.push_back(a.pointer<void>(3));
            return engine->run(pointers, a.workspace(), stream.handle);
        },
        engine->workspace());
}

}  // namespace infini::cuda
