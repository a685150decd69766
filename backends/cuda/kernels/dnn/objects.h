// Objects of the graph API of the vendor's library of neural-network primitives (cuDNN). Opened at
// run time; enumerators are those of its headers, unchanged since version 9.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/dnn/session.h"
#include "libraries.h"

namespace infini::cuda::dnn {

// cudnnBackendDescriptorType_t
enum Kind {
    kPointwise = 0,
    kConvolution = 1,
    kEngineObject = 2,
    kEngineConfiguration = 3,
    kHeuristics = 4,
    kPlan = 5,
    kConvolutionOperation = 10,
    kConvolutionGradientOperation = 12,
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
    kOfFloat = 4,
    kOfDouble = 5,
    kOfPointer = 6,
    kOfConvolutionMode = 7,
    kOfHeuristicMode = 8,
    kOfNumericalNote = 11,
    kOfPointwiseMode = 14,
    kOfObject = 15,
    kOfReduction = 18,
    kOfBehaviorNote = 19,
    kOfCharacter = 24,
};
// cudnnBackendAttributeName_t
enum Attribute {
    kPointwiseMode = 0,
    kPointwisePrecision = 1,
    kConvolutionPrecision = 100,
    kConvolutionMode = 101,
    kConvolutionDilations = 102,
    kConvolutionSteps = 103,
    kConvolutionPadsAfter = 104,
    kConvolutionPadsBefore = 105,
    kConvolutionDims = 106,
    kHeuristicsMode = 200,
    kHeuristicsGraph = 201,
    kHeuristicsResults = 202,
    kConfigurationEngine = 300,
    kPlanHandle = 400,
    kPlanConfiguration = 401,
    kPlanWorkspace = 402,
    kPlanText = 405,
    kConvolutionAlpha = 700,
    kConvolutionBeta = 701,
    kConvolutionWhat = 702,
    kConvolutionW = 703,
    kConvolutionX = 704,
    kConvolutionY = 705,
    kGradientAlpha = 706,
    kGradientBeta = 707,
    kGradientWhat = 708,
    kGradientW = 709,
    kGradientOfX = 710,
    kGradientOfY = 711,
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
    kEngineNumericalNotes = 1303,
    kEngineBehaviorNotes = 1305,
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
// cudnnBackendNumericalNote_t
enum NumericalNote { kUsesTensorCores = 0, kConvertsInputs = 1, kVaries = 4 };
// cudnnBackendBehaviorNote_t
enum BehaviorNote { kIsCompiled = 0 };
// cudnnBackendHeurMode_t: its best guesses, and what works for more cases.
enum HeuristicMode { kFallback = 2, kModeA = 3 };

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
                    name_of && last_sentence && version() >= size_t(90000) && is_there();

    template <class F>
    static F take(const char *name) {
        return function<F>(Part::kDnn, name);
    }
};

const GraphLibrary &library();

void check(int status, const char *what);  // throws Declined

// One of the library's objects. Attributes are set before `finish`; after that it can be used.
class Object {
public:
    explicit Object(int kind);
    ~Object();
    Object(Object &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Object &operator=(Object &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }

    // These throw Declined.
    void put(int attribute, int type, int64_t count, const void *values);
    void put(int attribute, const Object &object);
    void put(int attribute, int type, int value) { put(attribute, type, 1, &value); }
    void put(int attribute, int64_t value);
    void put(int attribute, bool value);
    void finish();
    // Becomes the object that is an attribute of another one.
    void fetch(const Object &of, int attribute);

    int64_t integer(int attribute) const;
    std::vector<int> numbers(int attribute, int type) const;  // of an enumeration
    std::string text(int attribute) const;
    void *handle() const { return handle_; }

private:
    void *handle_ = nullptr;
};

}  // namespace infini::cuda::dnn
