#include "kernels/dnn/graph.h"

#include "kernels/dnn/plan.h"

namespace infini::cuda::dnn {
namespace {

Sizes dense_strides(const Sizes &sizes) {
    Sizes strides(sizes.size(), 1);
    for (size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
    return strides;
}

}  // namespace

// ---- Engines ------------------------------------------------------------------------------------

Error Engine::run(const std::vector<void *> &pointers, void *workspace, void *stream) const {
    try {
        std::vector<const void *> places(pointers.begin(), pointers.end());
        for (const float &constant : constants_) places.push_back(&constant);
        Object pack(kVariantPack);
        pack.put(kPackNames, kOfInteger, int64_t(names_.size()), names_.data());
        pack.put(kPackPointers, kOfPointer, int64_t(places.size()), places.data());
        pack.put(kPackWorkspace, kOfPointer, 1, &workspace);
        pack.finish();
        std::lock_guard guard(session_->lock);
        check(library().set_stream(session_->handle, stream), "the stream");
        check(library().execute(session_->handle, plan_[0].handle(), pack.handle()), "a plan");
        return infinirtSuccess;
    } catch (const Declined &declined) {
        return fail(infinirtErrorUnknown, "the library of primitives refused %s",
                    declined.sentence.c_str());
    }
}

// ---- Graphs -------------------------------------------------------------------------------------

bool Graph::can() { return library().complete; }

Graph::Graph(int device) : session_(Session::of(device)) {
    engine_->session_ = &session_;
    parts_.reserve(64);
    keep(Object(kTensor), {});  // id 0 means none
}

Tensor Graph::keep(Object object, const Sizes &sizes) {
    parts_.push_back(std::move(object));
    return {parts_.size() - 1, sizes};
}

Object Graph::describe(Type type, const Sizes &sizes, const Sizes &strides, int64_t name) {
    constexpr int64_t kAlignment = 16;
    Object object(kTensor);
    object.put(kTensorName, name);
    object.put(kTensorType, kOfDataType, type);
    object.put(kTensorSizes, kOfInteger, int64_t(sizes.size()), sizes.data());
    object.put(kTensorStrides, kOfInteger, int64_t(strides.size()), strides.data());
    object.put(kTensorAlignment, kAlignment);
    text_ += "t" + std::to_string(type) + " ";
    for (const Sizes *values : {&sizes, &strides})
        for (int64_t value : *values) text_ += std::to_string(value) + " ";
    return object;
}

Tensor Graph::tensor(Type type, const Sizes &sizes, const Sizes &strides) {
    Object object = describe(type, sizes, strides, next_);
    object.finish();
    engine_->names_.push_back(next_++);
    return keep(std::move(object), sizes);
}

Tensor Graph::dense(Type type, const Sizes &sizes) {
    return tensor(type, sizes, dense_strides(sizes));
}

Tensor Graph::inside(Type type, const Sizes &sizes) {
    Object object = describe(type, sizes, dense_strides(sizes), next_++);
    object.put(kTensorIsInside, true);
    object.finish();
    return keep(std::move(object), sizes);
}

Tensor Graph::constant(float value) {
    const Sizes one{1, 1, 1, 1};
    Object object = describe(kFloat, one, one, next_);
    object.put(kTensorIsConstant, true);
    object.finish();
    constant_names_.push_back(next_++);
    engine_->constants_.push_back(value);
    text_ += "c ";  // its value is passed in each call
    return keep(std::move(object), one);
}

void Graph::operation(Object object) {
    object.finish();
    operations_.push_back(object.handle());
    keep(std::move(object), {});
}

void Graph::multiply(Tensor a, Tensor b, Tensor product) {
    Object what(kProduct), object(kProductOperation);
    what.put(kProductPrecision, kOfDataType, kFloat);
    what.finish();
    object.put(kProductA, part(a));
    object.put(kProductB, part(b));
    object.put(kProductC, part(product));
    object.put(kProductWhat, what);
    keep(std::move(what), {});
    operation(std::move(object));
    text_ += "* " + std::to_string(a.part) + " " + std::to_string(b.part) + " ";
}

Tensor Graph::reduce(Reduction how, Tensor x) {
    const Tensor y = inside(kFloat, {x.sizes[0], x.sizes[1], x.sizes[2], 1});
    Object what(kReduction), object(kReductionOperation);
    what.put(kReductionHow, kOfReduction, how);
    what.put(kReductionPrecision, kOfDataType, kFloat);
    what.finish();
    object.put(kReductionX, part(x));
    object.put(kReductionY, part(y));
    object.put(kReductionWhat, what);
    keep(std::move(what), {});
    operation(std::move(object));
    text_ += "r" + std::to_string(how) + " ";
    return y;
}

Tensor Graph::apply(Function function, Type type, Tensor x, Tensor b) {
    const Tensor y = inside(type, x.sizes);
    apply_to(y, function, x, b);
    return y;
}

void Graph::apply_to(Tensor y, Function function, Tensor x, Tensor b) {
    Object what(kPointwise), object(kPointwiseOperation);
    what.put(kPointwiseMode, kOfPointwiseMode, function);
    what.put(kPointwisePrecision, kOfDataType, kFloat);
    what.finish();
    object.put(kPointwiseWhat, what);
    object.put(kPointwiseX, part(x));
    if (b.part) object.put(kPointwiseB, part(b));
    object.put(kPointwiseY, part(y));
    keep(std::move(what), {});
    operation(std::move(object));
    text_ += "f" + std::to_string(function) + " " + std::to_string(x.part) + " " +
             std::to_string(b.part) + " " + std::to_string(y.part) + " ";
}

void Graph::convolve(bool transposed, Tensor x, Tensor w, Tensor y, const Steps &steps, Type sums,
                     double beta) {
    constexpr int kCrossCorrelation = 1;
    Object what(kConvolution);
    Object object(transposed ? kConvolutionGradientOperation : kConvolutionOperation);
    const auto put = [&what](int attribute, const Sizes &values) {
        what.put(attribute, kOfInteger, int64_t(values.size()), values.data());
    };
    what.put(kConvolutionPrecision, kOfDataType, sums);
    what.put(kConvolutionMode, kOfConvolutionMode, kCrossCorrelation);
    what.put(kConvolutionDims, int64_t(steps.pads.size()));
    put(kConvolutionDilations, steps.dilations);
    put(kConvolutionSteps, steps.strides);
    put(kConvolutionPadsBefore, steps.pads);
    put(kConvolutionPadsAfter, steps.pads);
    what.finish();
    const auto factor = [&](int attribute, double value) {
        const auto narrow = float(value);
        if (sums == kDouble)
            object.put(attribute, kOfDouble, 1, &value);
        else
            object.put(attribute, kOfFloat, 1, &narrow);
    };
    factor(transposed ? kGradientAlpha : kConvolutionAlpha, 1);
    factor(transposed ? kGradientBeta : kConvolutionBeta, beta);
    object.put(transposed ? kGradientWhat : kConvolutionWhat, what);
    object.put(transposed ? kGradientW : kConvolutionW, part(w));
    object.put(transposed ? kGradientOfY : kConvolutionX, part(x));
    object.put(transposed ? kGradientOfX : kConvolutionY, part(y));
    keep(std::move(what), {});
    operation(std::move(object));
    text_ += (transposed ? "v" : "u") + std::to_string(sums) + " " + std::to_string(beta) + " ";
    for (const Sizes *values : {&steps.pads, &steps.strides, &steps.dilations})
        for (int64_t value : *values) text_ += std::to_string(value) + " ";
}

std::unique_ptr<Engine> Graph::finish(const Limits &limits) {
    use_device(session_.device);
    engine_->plan_ = make_plan_of(operations_, text_, limits, session_);
    engine_->workspace_ = size_t(engine_->plan_[0].integer(kPlanWorkspace));
    for (int64_t name : constant_names_) engine_->names_.push_back(name);
    return std::move(engine_);
}

}  // namespace infini::cuda::dnn
