#include "kernels/dnn/graph.h"

#include "compile/compiler.h"
#include "libraries.h"

namespace infini::cuda::dnn {
namespace {

// cudnnBackendDescriptorType_t
enum Kind {
    kPointwise = 0,
    kEngineConfiguration = 3,
    kHeuristics = 4,
    kPlan = 5,
    kPointwiseOperation = 13,
    kOperationGraph = 15,
    kVariantPack = 16,
    kTensor = 17,
    kProduct = 18,
    kProductOperation = 19,
    kReduction = 21,
    kReductionOperation = 22,
};
// cudnnBackendAttributeType_t
enum ValueType {
    kOfHandle = 0,
    kOfDataType = 1,
    kOfBoolean = 2,
    kOfInteger = 3,
    kOfPointer = 6,
    kOfHeuristicMode = 8,
    kOfPointwiseMode = 14,
    kOfObject = 15,
    kOfReduction = 18,
    kOfCharacter = 24,
};
// cudnnBackendAttributeName_t
enum Attribute {
    kPointwiseMode = 0,
    kPointwisePrecision = 1,
    kHeuristicsMode = 200,
    kHeuristicsGraph = 201,
    kHeuristicsResults = 202,
    kPlanHandle = 400,
    kPlanConfiguration = 401,
    kPlanWorkspace = 402,
    kPlanText = 405,
    kPointwiseWhat = 750,
    kPointwiseX = 751,
    kPointwiseB = 752,
    kPointwiseY = 753,
    kGraphHandle = 800,
    kGraphOperations = 801,
    kTensorAlignment = 900,
    kTensorType = 901,
    kTensorSizes = 902,
    kTensorStrides = 903,
    kTensorName = 906,
    kTensorIsInside = 907,
    kTensorIsConstant = 908,
    kPackNames = 1000,
    kPackPointers = 1001,
    kPackWorkspace = 1003,
    kProductPrecision = 1500,
    kProductA = 1520,
    kProductB = 1521,
    kProductC = 1522,
    kProductWhat = 1523,
    kReductionHow = 1600,
    kReductionPrecision = 1601,
    kReductionX = 1610,
    kReductionY = 1611,
    kReductionWhat = 1612,
};
constexpr int kModeA = 3;  // heuristic mode: best known
constexpr size_t kFirstVersion = 90000;

struct GraphLibrary {
    size_t (*version)() = take<decltype(version)>("GetVersion");
    int (*set_stream)(void *, void *) = take<decltype(set_stream)>("SetStream");
    int (*make)(int, void **) = take<decltype(make)>("BackendCreateDescriptor");
    int (*destroy)(void *) = take<decltype(destroy)>("BackendDestroyDescriptor");
    int (*finish)(void *) = take<decltype(finish)>("BackendFinalize");
    int (*set)(void *, int, int, int64_t,
               const void *) = take<decltype(set)>("BackendSetAttribute");
    int (*get)(void *, int, int, int64_t, int64_t *,
               void *) = take<decltype(get)>("BackendGetAttribute");
    int (*execute)(void *, void *, void *) = take<decltype(execute)>("BackendExecute");
    const char *(*name_of)(int) = take<decltype(name_of)>("GetErrorString");
    void (*last_sentence)(char *, size_t) = take<decltype(last_sentence)>("GetLastErrorString");
    bool complete = version && set_stream && make && destroy && finish && set && get && execute &&
                    name_of && last_sentence && version() >= kFirstVersion && is_there();

    template <class F>
    static F take(const char *name) {
        return function<F>(Part::kDnn, name);
    }
    static const GraphLibrary &get_library() {
        static const GraphLibrary library;
        return library;
    }
};

const GraphLibrary &library() { return GraphLibrary::get_library(); }

// The status as text, with the library's reason.
std::string words(int status) {
    char sentence[512] = "";
    library().last_sentence(sentence, sizeof sentence);
    return std::string(library().name_of(status)) + (*sentence ? ": " : "") + sentence;
}

void check(int status, const char *what) {
    if (status != 0) throw Declined{std::string(what) + ": " + words(status)};
}

}  // namespace

// ---- Objects ------------------------------------------------------------------------------------

Object::Object(int kind) { check(library().make(kind, &handle_), "an object"); }

Object::~Object() {
    if (handle_) library().destroy(handle_);
}

void Object::put(int attribute, int type, int64_t count, const void *values) {
    check(library().set(handle_, attribute, type, count, values), "an attribute");
}

void Object::put(int attribute, const Object &object) {
    put(attribute, kOfObject, 1, &object.handle_);
}

void Object::put(int attribute, int64_t value) { put(attribute, kOfInteger, 1, &value); }

void Object::put(int attribute, bool value) { put(attribute, kOfBoolean, 1, &value); }

void Object::finish() { check(library().finish(handle_), "an object"); }

int64_t Object::integer(int attribute) const {
    int64_t value = 0, count = 0;
    check(library().get(handle_, attribute, kOfInteger, 1, &count, &value), "an attribute");
    return value;
}

std::string Object::text(int attribute) const {
    int64_t count = 0;
    check(library().get(handle_, attribute, kOfCharacter, 0, &count, nullptr), "a text");
    std::string text(size_t(count), '\0');
    check(library().get(handle_, attribute, kOfCharacter, count, &count, text.data()), "a text");
    return text;
}

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
    object.put(kTensorSizes, kOfInteger, 4, sizes.data());
    object.put(kTensorStrides, kOfInteger, 4, strides.data());
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

Tensor Graph::inside(Type type, const Sizes &sizes) {
    Sizes strides{1, 1, 1, 1};
    for (size_t i = 3; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
    Object object = describe(type, sizes, strides, next_++);
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
             std::to_string(b.part) + " ";
    return y;
}

// The first choice of the library's heuristics, serialized, because another handle runs it.
std::string Graph::compile(void *handle) const {
    Object graph(kOperationGraph), heuristics(kHeuristics), configuration(kEngineConfiguration);
    graph.put(kGraphHandle, kOfHandle, 1, &handle);
    graph.put(kGraphOperations, kOfObject, int64_t(operations_.size()), operations_.data());
    graph.finish();
    heuristics.put(kHeuristicsGraph, graph);
    heuristics.put(kHeuristicsMode, kOfHeuristicMode, kModeA);
    heuristics.finish();
    int64_t count = 0;
    void *result = configuration.handle();
    check(library().get(heuristics.handle(), kHeuristicsResults, kOfObject, 1, &count, &result),
          "a graph");
    if (count < 1) throw Declined{"a graph: it has no kernel for it"};
    Object plan(kPlan);
    plan.put(kPlanHandle, kOfHandle, 1, &handle);
    plan.put(kPlanConfiguration, configuration);
    plan.finish();
    return plan.text(kPlanText);
}

Object Graph::restore(const std::vector<char> &text) const {
    std::lock_guard guard(session_.lock);
    Object plan(kPlan);
    plan.put(kPlanHandle, kOfHandle, 1, &session_.handle);
    plan.put(kPlanText, kOfCharacter, int64_t(text.size()), text.data());
    plan.finish();
    return plan;
}

// Compiled kernels are cached on disk.
Object Graph::plan() const {
    const Device &device = Device::get(session_.device);
    std::string facts =
        "plan 1 of the library of primitives\n" + std::to_string(library().version()) + " " +
        std::to_string(driver_version()) + " " + std::to_string(device.major) + "." +
        std::to_string(device.minor) + " " + std::to_string(device.multiprocessors) + "\n";
    const Key key = key_of(facts + text_);
    Making making(session_, key.hex());
    std::vector<char> text;
    if (Cache::get().load(key, text)) {
        try {
            return restore(text);
        } catch (const Declined &) {  // possibly from another machine
        }
    }
    const std::string made = compile(making.handle());
    text.assign(made.begin(), made.end());
    Cache::get().store(key, text);
    return restore(text);
}

std::unique_ptr<Engine> Graph::finish() {
    use_device(session_.device);
    engine_->plan_.push_back(plan());
    engine_->workspace_ = size_t(engine_->plan_[0].integer(kPlanWorkspace));
    for (int64_t name : constant_names_) engine_->names_.push_back(name);
    return std::move(engine_);
}

}  // namespace infini::cuda::dnn
