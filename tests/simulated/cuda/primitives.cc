// A libcudnn look-alike: graphs of operations, evaluated one operation after the other. Strict about
// objects: what it refuses the library would refuse. It has kernels for heads whose size is a
// multiple of 16.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "halves.h"

namespace {

constexpr int kSuccess = 0, kBad = 2000, kUnsupported = 3000;
// Kinds of objects, types of values and names of attributes are cuDNN's numbers.
enum { kPointwise = 0, kConfiguration = 3, kHeuristics = 4, kPlan = 5, kPointwiseOperation = 13 };
enum { kGraph = 15, kPack = 16, kTensor = 17, kProductOperation = 19, kReductionOperation = 22 };
enum { kOfInteger = 3, kOfObject = 15, kOfCharacter = 24 };
enum { kFloat = 0, kHalf = 2, kBfloat = 9 };

thread_local std::string last;

int wrong(const char *sentence, int status = kBad) {
    last = sentence;
    if (status == kBad) std::fprintf(stderr, "simulated cuDNN: %s\n", sentence);
    return status;
}

struct Object;
using Shared = std::shared_ptr<Object>;

struct Value {
    int type = 0;
    std::vector<char> bytes;
    std::vector<Shared> objects;
};
struct Object {
    int kind = 0;
    bool finished = false;
    std::map<int, Value> values;

    bool has(int name) const { return values.count(name) > 0; }
    template <class T>
    T get(int name, size_t index = 0) const {
        T value{};
        const auto found = values.find(name);
        if (found != values.end() && found->second.bytes.size() >= (index + 1) * sizeof(T))
            std::memcpy(&value, found->second.bytes.data() + index * sizeof(T), sizeof(T));
        return value;
    }
    Shared object(int name) const {
        const auto found = values.find(name);
        return found == values.end() || found->second.objects.empty() ? nullptr
                                                                      : found->second.objects[0];
    }
};

size_t size_of(int type) {
    switch (type) {
        case 2:  // a truth value
        case kOfCharacter:
            return 1;
        case 0:  // a handle
        case kOfInteger:
        case 6:  // a pointer
        case kOfObject:
            return 8;
        default:
            return 4;
    }
}

// ---- Texts of plans -----------------------------------------------------------------------------

std::string text_of(const Object &object) {
    std::string text = std::to_string(object.kind) + " " + std::to_string(object.values.size());
    for (const auto &[name, value] : object.values) {
        text += " " + std::to_string(name) + " " + std::to_string(value.type) + " " +
                std::to_string(value.bytes.size());
        for (char byte : value.bytes) text += " " + std::to_string(int(byte));
        text += " " + std::to_string(value.objects.size());
        for (const Shared &part : value.objects) text += " " + text_of(*part);
    }
    return text;
}

Shared from_text(const char *&at) {
    auto number = [&at] { return int(std::strtol(at, const_cast<char **>(&at), 10)); };
    auto object = std::make_shared<Object>();
    object->kind = number(), object->finished = true;
    for (int count = number(); count > 0; --count) {
        Value &value = object->values[number()];
        value.type = number();
        value.bytes.resize(size_t(number()));
        for (char &byte : value.bytes) byte = char(number());
        value.objects.resize(size_t(number()));
        for (Shared &part : value.objects) part = from_text(at);
    }
    return object;
}

// ---- Evaluation ---------------------------------------------------------------------------------

using Sizes = std::array<int64_t, 4>;

struct Array {
    int type = kFloat;
    Sizes sizes{}, strides{};
    void *data = nullptr;          // given
    std::vector<double> elements;  // inside

    double &at(const Sizes &place) {
        int64_t offset = 0;
        for (size_t i = 0; i < 4; ++i) offset += sizes[i] == 1 ? 0 : place[i] * strides[i];
        return elements[size_t(offset)];
    }
    double read(Sizes place) {
        int64_t offset = 0;
        for (size_t i = 0; i < 4; ++i) offset += sizes[i] == 1 ? 0 : place[i] * strides[i];
        if (!data) return elements[size_t(offset)];
        const auto half = static_cast<const uint16_t *>(data);
        if (type == kHalf) return half_to_double(half[offset]);
        if (type == kBfloat) return bfloat_to_double(half[offset]);
        return static_cast<const float *>(data)[offset];
    }
    void write(const Sizes &place, double value) {
        if (!data) {
            at(place) = type == kHalf     ? half_to_double(double_to_half(value))
                        : type == kBfloat ? bfloat_to_double(double_to_bfloat(value))
                                          : double(float(value));
            return;
        }
        int64_t offset = 0;
        for (size_t i = 0; i < 4; ++i) offset += place[i] * strides[i];
        static_cast<uint16_t *>(data)[offset] =
            type == kHalf ? double_to_half(value) : double_to_bfloat(value);
    }
};

template <class F>
void each(const Sizes &sizes, F visit) {
    Sizes p;
    for (p[0] = 0; p[0] < sizes[0]; ++p[0])
        for (p[1] = 0; p[1] < sizes[1]; ++p[1])
            for (p[2] = 0; p[2] < sizes[2]; ++p[2])
                for (p[3] = 0; p[3] < sizes[3]; ++p[3]) visit(p);
}

double applied(int mode, double x, double b) {
    switch (mode) {
        case 0:
            return x + b;
        case 1:
            return x * b;
        case 6:
            return x / b;
        case 9:
            return x - b;
        case 13:
            return std::exp(x);
        case 15:
            return std::log(x);
        default:
            return NAN;
    }
}

// All that a call was given, by value: a graph may run it again.
struct Call {
    Shared graph;
    std::map<int64_t, void *> pointers;
    std::map<int64_t, float> constants;
    std::map<int64_t, Array> arrays;

    Array &array(const Shared &tensor) {
        const auto name = tensor->get<int64_t>(906);
        const auto [place, added] = arrays.try_emplace(name);
        Array &a = place->second;
        if (!added) return a;
        a.type = tensor->get<int>(901);
        for (size_t i = 0; i < 4; ++i)
            a.sizes[i] = tensor->get<int64_t>(902, i), a.strides[i] = tensor->get<int64_t>(903, i);
        if (tensor->get<bool>(907))
            a.elements.resize(size_t(a.sizes[0] * a.sizes[1] * a.sizes[2] * a.sizes[3]));
        else if (tensor->get<bool>(908))
            a.elements = {constants.at(name)};
        else
            a.data = pointers.at(name);
        return a;
    }

    void multiply(const Object &operation) {
        Array &a = array(operation.object(1520)), &b = array(operation.object(1521));
        Array &c = array(operation.object(1522));
        each(c.sizes, [&](const Sizes &p) {
            const int64_t head = p[1] * b.sizes[1] / c.sizes[1];  // several share one
            double sum = 0;
            for (int64_t k = 0; k < a.sizes[3]; ++k)
                sum += a.read({p[0], p[1], p[2], k}) * b.read({p[0], head, k, p[3]});
            c.write(p, sum);
        });
    }
    void reduce(const Object &operation) {
        Array &x = array(operation.object(1610)), &y = array(operation.object(1611));
        const bool greatest = operation.object(1612)->get<int>(1600) == 3;
        each(y.sizes, [&](const Sizes &p) {
            double result = greatest ? -INFINITY : 0;
            for (int64_t k = 0; k < x.sizes[3]; ++k) {
                const double value = x.read({p[0], p[1], p[2], k});
                result = greatest ? std::max(result, value) : result + value;
            }
            y.write(p, result);
        });
    }
    void apply(const Object &operation) {
        const Shared what = operation.object(750);
        const int mode = what->get<int>(0);
        Array &x = array(operation.object(751)), &y = array(operation.object(753));
        Array *b = operation.has(752) ? &array(operation.object(752)) : nullptr;
        each(y.sizes,
             [&](const Sizes &p) { y.write(p, applied(mode, x.read(p), b ? b->read(p) : 0)); });
    }
    void run() {
        arrays.clear();
        for (const Shared &operation : graph->values[801].objects) {
            if (operation->kind == kProductOperation) multiply(*operation);
            if (operation->kind == kReductionOperation) reduce(*operation);
            if (operation->kind == kPointwiseOperation) apply(*operation);
        }
    }
};

// A library in the folder that this one is in.
std::string beside(const char *name) {
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void *>(&beside), &info)) return name;
    const std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/') + 1) + name;
}

// Of the tensors that operations of a graph name.
std::map<int64_t, Shared> tensors_of(const Object &graph) {
    std::map<int64_t, Shared> found;
    for (const Shared &operation : graph.values.at(801).objects)
        for (const auto &[name, value] : operation->values)
            for (const Shared &part : value.objects)
                if (part->kind == kTensor) found[part->get<int64_t>(906)] = part;
    return found;
}

int finish_plan(Object &plan) {
    if (!plan.has(400)) return wrong("a plan has no handle");
    if (plan.has(405)) {
        const std::string text(plan.values[405].bytes.begin(), plan.values[405].bytes.end());
        const char *at = text.c_str();
        plan.values[1] = {kOfObject, {}, {from_text(at)}};
        return kSuccess;
    }
    if (!plan.object(401)) return wrong("a plan has no configuration");
    plan.values[1] = {kOfObject, {}, {plan.object(401)->object(1)}};
    return kSuccess;
}

struct Handle {
    void *stream = nullptr;
};

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return 91900; }
size_t cudnnGetCudartVersion() { return 12000; }
const char *cudnnGetErrorString(int) { return "CUDNN_STATUS_SIMULATED"; }
void cudnnGetLastErrorString(char *text, size_t size) {
    std::snprintf(text, size, "%s", last.c_str());
}
int cudnnCreate(Handle **made) {
    *made = new Handle;
    return kSuccess;
}
int cudnnSetStream(Handle *handle, void *stream) {
    handle->stream = stream;
    return kSuccess;
}

int cudnnBackendCreateDescriptor(int kind, Shared **made) {
    *made = new Shared(std::make_shared<Object>());
    (**made)->kind = kind;
    return kSuccess;
}
int cudnnBackendDestroyDescriptor(Shared *object) {
    delete object;
    return kSuccess;
}
int cudnnBackendSetAttribute(Shared *to, int name, int type, int64_t count, const void *values) {
    Object &object = **to;
    if (object.finished) return wrong("a finished object is changed");
    if (count < 0 || (count > 0 && !values)) return wrong("an attribute has no values");
    Value value;
    value.type = type;
    if (type == kOfObject) {
        for (int64_t i = 0; i < count; ++i) {
            value.objects.push_back(*static_cast<Shared *const *>(values)[i]);
            if (!value.objects.back()->finished) return wrong("an object is not finished");
        }
    } else {
        const auto bytes = static_cast<const char *>(values);
        value.bytes.assign(bytes, bytes + size_t(count) * size_of(type));
    }
    object.values[name] = std::move(value);
    return kSuccess;
}
int cudnnBackendFinalize(Shared *of) {
    Object &object = **of;
    if (object.finished) return wrong("an object is finished twice");
    if (object.kind == kTensor)
        for (int name : {901, 902, 903, 906})
            if (!object.has(name)) return wrong("a tensor lacks an attribute");
    if (object.kind == kGraph && (!object.has(801) || !object.has(800)))
        return wrong("a graph has no operations, or no handle");
    if (object.kind == kPlan)
        if (const int status = finish_plan(object)) return status;
    object.finished = true;
    return kSuccess;
}
int cudnnBackendGetAttribute(Shared *of, int name, int type, int64_t wanted, int64_t *count,
                             void *values) {
    Object &object = **of;
    if (!object.finished) return wrong("an object is asked before it is finished");
    if (object.kind == kHeuristics && name == 202 && type == kOfObject) {
        const Shared graph = object.object(201);
        *count = 0;
        for (const auto &[id, tensor] : tensors_of(*graph))
            if (!tensor->get<bool>(907) && !tensor->get<bool>(908))
                for (size_t i = 0; i < 4; ++i)
                    if (tensor->get<int64_t>(903, i) == 1 && tensor->get<int64_t>(902, i) % 16 != 0)
                        return kSuccess;  // no kernel
        if (wanted < 1) return wrong("no result is wanted");
        Object &configuration = ***static_cast<Shared **>(values);
        configuration.values[1] = {kOfObject, {}, {graph}};
        configuration.finished = true;
        *count = 1;
        return kSuccess;
    }
    if (object.kind == kPlan && name == 402) {
        *count = 1;
        *static_cast<int64_t *>(values) = 512;
        return kSuccess;
    }
    if (object.kind == kPlan && name == 405) {
        const std::string text = text_of(*object.object(1));
        *count = int64_t(text.size());
        if (wanted >= *count) std::memcpy(values, text.data(), text.size());
        return kSuccess;
    }
    return wrong("there is no such attribute to ask for");
}
int cudnnBackendExecute(Handle *handle, Shared *plan, Shared *given) {
    Object &pack = **given;
    if ((*plan)->kind != kPlan || !(*plan)->finished || pack.kind != kPack || !pack.finished)
        return wrong("a plan or a pack of pointers is not finished");
    auto *call = new Call;  // kept
    call->graph = (*plan)->object(1);
    const size_t count = pack.values[1000].bytes.size() / 8;
    if (pack.values[1001].bytes.size() != count * 8) return wrong("names and pointers differ");
    const auto tensors = tensors_of(*call->graph);
    std::set<int64_t> names;
    for (size_t i = 0; i < count; ++i) {
        const auto name = pack.get<int64_t>(1000, i);
        void *pointer = pack.get<void *>(1001, i);
        const auto tensor = tensors.find(name);
        if (tensor == tensors.end() || tensor->second->get<bool>(907))
            return wrong("a pointer is of no tensor");
        names.insert(name);
        if (tensor->second->get<bool>(908)) {
            call->constants[name] = *static_cast<float *>(pointer);
            continue;
        }
        if (!pointer || reinterpret_cast<uintptr_t>(pointer) % 16)
            return wrong("a pointer is null, or not aligned");
        call->pointers[name] = pointer;
    }
    for (const auto &[name, tensor] : tensors)
        if (!tensor->get<bool>(907) && !names.count(name)) return wrong("a tensor has no pointer");
    if (std::getenv("INFINI_SIMULATED_TRACE"))
        std::fprintf(stderr, "simulated cuDNN: a graph of %zu operations\n",
                     call->graph->values[801].objects.size());
    void *workspace = pack.get<void *>(1003);
    if (!workspace) return wrong("there is no workspace");
    using Launch = int (*)(void *, void (*)(void *), void *);
    static const auto launch = reinterpret_cast<Launch>(
        dlsym(dlopen(beside("libcudart.so.12").c_str(), RTLD_NOW), "cudaLaunchHostFunc"));
    auto run = [](void *data) { static_cast<Call *>(data)->run(); };
    if (launch) return launch(handle->stream, run, call) == 0 ? kSuccess : kUnsupported;
    return wrong("there is no runtime");
}

}  // extern "C"
