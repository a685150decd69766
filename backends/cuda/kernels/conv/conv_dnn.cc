#include "kernels/conv/conv_dnn.h"

#include <array>
#include <limits>
#include <system_error>
#include <thread>

#include "kernels/dnn/session.h"
#include "libraries.h"

namespace infini::cuda {
namespace {

using Handle = void *;
using Object = void *;  // a descriptor

enum DataType { kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 9 };
enum Math { kTensorCores = 1, kFullPrecision = 3 };
constexpr int kChannelsFirst = 0, kCrossCorrelation = 1, kDeterministic = 1;
// For functions with an activation; the identity is supported only by this algorithm.
constexpr int kIdentity = 5, kWithNaN = 1, kPrecomputedGemm = 1;
constexpr size_t kMostWorkspace = size_t(1) << 30;

struct AlgorithmResult {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math;
    int reserved[3];
};

// The library's functions, as declared since version 7.
struct ConvLibrary {
    template <class... A>
    using F = int (*)(A...);

    F<Handle, void *> set_stream;
    F<Object *> create_tensor, create_filter, create_convolution, create_activation;
    F<Object> destroy_tensor, destroy_filter, destroy_convolution, destroy_activation;
    F<Object, int, int, const int *, const int *> set_tensor;
    F<Object, int, int, int, const int *> set_filter;
    F<Object, int, const int *, const int *, const int *, int, int> set_convolution;
    F<Object, int> set_groups, set_math;
    F<Handle, Object, Object, Object, Object, int, int *, AlgorithmResult *> algorithms;
    F<Handle, const void *, Object, const void *, Object, const void *, Object, int, void *, size_t,
      const void *, Object, void *>
        forward;
    F<Handle, const void *, Object, const void *, const void *, Object, void *> add;
    F<Object, int, int, double> set_activation;
    F<Handle, const void *, Object, const void *, Object, const void *, Object, int, void *, size_t,
      const void *, Object, const void *, Object, const void *, Object, Object, void *>
        forward_with_bias;
    bool complete = false;

    static const ConvLibrary &get() {
        static const ConvLibrary library;
        return library;
    }

private:
    ConvLibrary() {
        bool all = true;
        auto load = [&](auto &pointer, const char *name) {
            pointer = function<std::remove_reference_t<decltype(pointer)>>(Part::kDnn, name);
            all = all && pointer;
        };
        load(set_stream, "SetStream");
        load(create_tensor, "CreateTensorDescriptor");
        load(create_filter, "CreateFilterDescriptor");
        load(create_convolution, "CreateConvolutionDescriptor");
        load(destroy_tensor, "DestroyTensorDescriptor");
        load(destroy_filter, "DestroyFilterDescriptor");
        load(destroy_convolution, "DestroyConvolutionDescriptor");
        load(set_tensor, "SetTensorNdDescriptor");
        load(set_filter, "SetFilterNdDescriptor");
        load(set_convolution, "SetConvolutionNdDescriptor");
        load(set_groups, "SetConvolutionGroupCount");
        load(set_math, "SetConvolutionMathType");
        load(algorithms, "GetConvolutionForwardAlgorithm_v7");
        load(forward, "ConvolutionForward");
        load(add, "AddTensor");
        load(create_activation, "CreateActivationDescriptor");
        load(destroy_activation, "DestroyActivationDescriptor");
        load(set_activation, "SetActivationDescriptor");
        load(forward_with_bias, "ConvolutionBiasActivationForward");
        complete = all && dnn::is_there();
    }
};

template <class... A>
auto runtime(const char *name) {
    return function<int (*)(A...)>(Part::kRuntime, name);
}

// A stream whose work is captured and discarded: tests what a library accepts, without memory.
class Rehearsal {
public:
    Rehearsal() {
        static const auto create = runtime<void **, unsigned>("StreamCreateWithFlags");
        static const auto begin = runtime<void *, int>("StreamBeginCapture");
        constexpr unsigned kNonBlocking = 1;
        begins_ = create && begin && create(&stream_, kNonBlocking) == 0 &&
                  begin(stream_, infinirtStreamCaptureModeRelaxed) == 0;
    }
    ~Rehearsal() {
        static const auto end = runtime<void *, void **>("StreamEndCapture");
        static const auto destroy_graph = runtime<void *>("GraphDestroy");
        static const auto destroy = runtime<void *>("StreamDestroy");
        void *graph = nullptr;
        if (begins_ && end && end(stream_, &graph) == 0 && graph) destroy_graph(graph);
        if (stream_) destroy(stream_);
    }
    Rehearsal(const Rehearsal &) = delete;

    bool begins() const { return begins_; }
    void *stream() const { return stream_; }

private:
    void *stream_ = nullptr;
    bool begins_ = false;
};

// Sizes of images and windows. The library requires at least two dimensions: adds one of size 1.
struct Sizes {
    int dims = 2;
    std::array<int, 3> pads{}, steps{1, 1, 1}, dilations{1, 1, 1};

    // Batch, channels, and the rest, filled from the right.
    std::array<int, 5> of(const Tensor &tensor) const {
        std::array<int, 5> sizes{int(tensor.size(0)), int(tensor.size(1)), 1, 1, 1};
        const int spatial = tensor.ndim - 2;
        for (int i = 0; i < spatial; ++i)
            sizes[size_t(2 + dims - spatial + i)] = int(tensor.size(2 + i));
        return sizes;
    }
};

int data_type(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_F16:
            return kHalf;
        case INFINI_DTYPE_BF16:
            return kBfloat16;
        case INFINI_DTYPE_F32:
            return kFloat;
        default:
            return kDouble;
    }
}

class Convolution final : public Plan {
public:
    Convolution(const Operation &op, int device, int64_t groups)
        : library_(ConvLibrary::get()), session_(dnn::Session::of(device)) {
        is_double_ = op.tensor(0).dtype == INFINI_DTYPE_F64;
        has_bias_ = bool(op.tensor(3));
        // 16-bit sums would be rounded twice if biases were added afterwards.
        fuses_ = has_bias_ && dtype_bytes(op.tensor(0).dtype) == 2;
        usable_ = describe(op, groups) && choose() && (!fuses_ || is_accepted());
    }
    ~Convolution() override {
        for (Object tensor : {x_, y_, bias_})
            if (tensor) library_.destroy_tensor(tensor);
        if (w_) library_.destroy_filter(w_);
        if (convolution_) library_.destroy_convolution(convolution_);
        if (activation_) library_.destroy_activation(activation_);
    }

    bool usable() const { return usable_; }

    Error run(const Arguments &a, const Stream &stream) const override {
        std::lock_guard guard(session_.lock);
        const Data data{a.pointer<void>(0), a.pointer<void>(1), a.pointer<void>(2),
                        has_bias_ ? a.pointer<void>(3) : nullptr, a.workspace()};
        const int code = enqueue(data, stream.handle);
        if (code == 0) return infinirtSuccess;
        return fail(infinirtErrorUnknown, "the convolution library failed with status %d", code);
    }

private:
    struct Data {
        void *y, *x, *w, *bias, *workspace;
    };

    // The session is locked.
    int enqueue(const Data &data, void *stream) const {
        static constexpr float kOne = 1, kZero = 0;
        static constexpr double kOneDouble = 1, kZeroDouble = 0;
        const void *one = is_double_ ? static_cast<const void *>(&kOneDouble) : &kOne;
        const void *zero = is_double_ ? static_cast<const void *>(&kZeroDouble) : &kZero;
        int code = library_.set_stream(session_.handle, stream);
        if (code == 0 && activation_)
            return library_.forward_with_bias(session_.handle, one, x_, data.x, w_, data.w,
                                              convolution_, algorithm_, data.workspace, workspace,
                                              zero, y_, data.y, bias_, data.bias, activation_, y_,
                                              data.y);
        if (code == 0)
            code = library_.forward(session_.handle, one, x_, data.x, w_, data.w, convolution_,
                                    algorithm_, data.workspace, workspace, zero, y_, data.y);
        if (code == 0 && has_bias_)
            code = library_.add(session_.handle, one, bias_, data.bias, one, y_, data.y);
        return code;
    }

    // Algorithms are reported only for plain convolutions; whether the function with biases
    // supports one is known only by calling it. On a separate thread, so that refusals do not
    // change the caller's last error.
    bool is_accepted() const {
        bool accepted = false;  // also if no thread can be created: then our own kernels are used
        const auto try_it = [&] {
            try {
                accepted = rehearse();
            } catch (...) {
            }
        };
        try {
            std::thread(try_it).join();
        } catch (const std::system_error &) {
        }
        return accepted;
    }

    // Nothing runs, so addresses only have to differ.
    bool rehearse() const {
        use_device(session_.device);
        const OutsideCapture outside;
        const Rehearsal rehearsal;
        if (!rehearsal.begins()) return false;
        const auto none = [](uintptr_t i) { return reinterpret_cast<void *>((i + 1) << 36); };
        std::lock_guard guard(session_.lock);
        const Data data{none(0), none(1), none(2), none(3), workspace ? none(4) : nullptr};
        const int code = enqueue(data, rehearsal.stream());
        library_.set_stream(session_.handle, nullptr);
        return code == 0;
    }

    bool describe(const Operation &op, int64_t groups) {
        const Tensor y = op.tensor(0), x = op.tensor(1), w = op.tensor(2);
        const int given = int(op.integer(3)), type = data_type(y.dtype);
        Sizes sizes;
        sizes.dims = given < 2 ? 2 : given;
        for (int i = 0; i < given; ++i) {
            const size_t at = size_t(sizes.dims - given + i);
            if (op.list(0)) sizes.pads[at] = int(op.list(0)[i]);
            if (op.list(1)) sizes.steps[at] = int(op.list(1)[i]);
            if (op.list(2)) sizes.dilations[at] = int(op.list(2)[i]);
        }
        const int ndim = sizes.dims + 2;
        std::array<int, 5> bias{1, int(w.size(0)), 1, 1, 1};
        const auto window = sizes.of(w);
        const int math = is_double_ || type == kFloat ? kFullPrecision : kTensorCores;
        return tensor(x_, type, ndim, sizes.of(x)) && tensor(y_, type, ndim, sizes.of(y)) &&
               tensor(bias_, type, ndim, bias) && library_.create_filter(&w_) == 0 &&
               library_.set_filter(w_, type, kChannelsFirst, ndim, window.data()) == 0 &&
               library_.create_convolution(&convolution_) == 0 &&
               library_.set_convolution(convolution_, sizes.dims, sizes.pads.data(),
                                        sizes.steps.data(), sizes.dilations.data(),
                                        kCrossCorrelation, is_double_ ? kDouble : kFloat) == 0 &&
               library_.set_groups(convolution_, int(groups)) == 0 &&
               library_.set_math(convolution_, math) == 0 &&
               (!fuses_ || (library_.create_activation(&activation_) == 0 &&
                            library_.set_activation(activation_, kIdentity, kWithNaN, 0) == 0));
    }

    bool tensor(Object &object, int type, int ndim, const std::array<int, 5> &sizes) {
        std::array<int, 5> strides{};
        for (int i = ndim - 1, step = 1; i >= 0; --i) {
            strides[size_t(i)] = step;
            step *= sizes[size_t(i)];
        }
        return library_.create_tensor(&object) == 0 &&
               library_.set_tensor(object, type, ndim, sizes.data(), strides.data()) == 0;
    }

    // The fastest deterministic one with an acceptable workspace.
    bool choose() {
        constexpr int kMost = 16;
        AlgorithmResult results[kMost];
        int count = 0;
        std::lock_guard guard(session_.lock);
        if (library_.algorithms(session_.handle, x_, w_, convolution_, y_, kMost, &count, results))
            return false;
        for (int i = 0; i < count; ++i) {
            const AlgorithmResult &result = results[i];
            if (result.status != 0 || result.determinism != kDeterministic ||
                result.memory > kMostWorkspace)
                continue;
            if (fuses_ && result.algorithm != kPrecomputedGemm) continue;
            algorithm_ = result.algorithm;
            workspace = result.memory;
            // The algorithm was reported together with its math type.
            return library_.set_math(convolution_, result.math) == 0;
        }
        return false;
    }

    const ConvLibrary &library_;
    dnn::Session &session_;
    Object x_ = nullptr, y_ = nullptr, w_ = nullptr, bias_ = nullptr, convolution_ = nullptr;
    Object activation_ = nullptr;  // none, but required by the function that adds biases
    int algorithm_ = 0;
    bool is_double_ = false, has_bias_ = false, fuses_ = false, usable_ = false;
};

}  // namespace

std::unique_ptr<Plan> plan_conv_dnn(const Operation &operation, Device &device,
                                    int64_t groups) try {
    if (!ConvLibrary::get().complete) return nullptr;
    for (int i = 0; i < 3; ++i)
        if (operation.tensor(i).numel() > std::numeric_limits<int>::max()) return nullptr;
    auto plan = std::make_unique<Convolution>(operation, device.index, groups);
    if (!plan->usable()) return nullptr;
    return plan;
} catch (const dnn::Declined &) {
    return nullptr;
}

}  // namespace infini::cuda
