// A libcudnn look-alike: objects of graphs, and plans for them. It has engines for attention with
// heads whose size is a multiple of 16, and for convolutions.
#include "primitives.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

#include "beside.h"

namespace primitives {
namespace {

thread_local std::string last;

size_t size_of(int type) {
    switch (type) {
        case 2:  // a truth value
        case kOfCharacter:
            return 1;
        case 0:  // a handle
        case kOfInteger:
        case 6:  // a pointer
        case kOfDouble:
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

// ---- Plans --------------------------------------------------------------------------------------

// INFINI_SIMULATED_PLANS=2: no kernel is made until this many are being made at the same time.
bool others_come() {
    static std::mutex lock;
    static std::condition_variable changed;
    static int begun = 0;
    const char *wanted = std::getenv("INFINI_SIMULATED_PLANS");
    std::unique_lock guard(lock);
    ++begun;
    changed.notify_all();
    return !wanted || changed.wait_for(guard, std::chrono::seconds(100),
                                       [&] { return begun >= std::atoi(wanted); });
}

// Numerical notes, and values of our own.
enum { kUsesTensorCores = 0, kConvertsInputs = 1, kVaries = 4 };
enum { kItsGraph = 1, kItsEngine = 2, kItsWorkspace = 10, kIsUnsupported = 11, kIsWrong = 12 };
constexpr int64_t kWorkspace = 512;

template <class T>
Value value_of(int type, const std::vector<T> &values) {
    const auto bytes = reinterpret_cast<const char *>(values.data());
    return {type, {bytes, bytes + values.size() * sizeof(T)}, {}};
}

struct Candidate {
    std::vector<int> numerical{}, behavior{};
    int64_t workspace = kWorkspace;
    bool is_unsupported = false, is_wrong = false;

    Shared engine() const {
        auto made = std::make_shared<Object>();
        made->kind = kEngine, made->finished = true;
        made->values[1303] = value_of(kOfNumericalNote, numerical);
        made->values[1305] = value_of(kOfBehaviorNote, behavior);
        made->values[kItsWorkspace] = value_of<int64_t>(kOfInteger, {workspace});
        if (is_unsupported) made->values[kIsUnsupported] = {};
        if (is_wrong) made->values[kIsWrong] = {};
        return made;
    }
};

// Like the library's: convolutions have several engines, of which some must not be used; biases are
// added by none for transposed convolutions and F64. INFINI_SIMULATED_REFUSAL=1: by none at all.
std::vector<Candidate> candidates_of(const Object &graph, int mode) {
    constexpr int kFallback = 2, kCompiled = 0;
    const auto &operations = graph.values.at(801).objects;
    const int kind = operations[0]->kind;
    if (kind != kConvolutionOperation && kind != kGradientOperation) {
        for (const auto &[id, tensor] : tensors_of(graph))
            if (!tensor->get<bool>(907) && !tensor->get<bool>(908))
                for (size_t i = 0; i < 4; ++i)
                    if (tensor->get<int64_t>(903, i) == 1 && tensor->get<int64_t>(902, i) % 16 != 0)
                        return {};
        if (mode == kFallback) return {};
        return {{{kUsesTensorCores}, {kCompiled}}};
    }
    const Convolution convolution(*operations[0]);
    const int type = convolution.x->get<int>(901);
    const bool is_short = type == kHalf || type == kBfloat;
    if (operations.size() > 1 &&
        (convolution.is_transposed || convolution.is_double || has("INFINI_SIMULATED_REFUSAL")))
        return {};
    if (mode == kFallback) return {Candidate{}};
    if (convolution.is_double) return {};  // has to be found by the fallback
    Candidate varies, converts, large, rounds, best;
    varies.numerical = {kVaries}, varies.is_wrong = true;
    converts.numerical = {kUsesTensorCores, kConvertsInputs};
    converts.is_wrong = !is_short, converts.is_unsupported = is_short;
    large.workspace = int64_t(3) << 30, large.is_wrong = true;
    rounds.numerical = {kUsesTensorCores}, rounds.is_wrong = !is_short;
    return {varies, converts, large, rounds, best};
}

int finish_plan(Object &plan) {
    if (!plan.has(400)) return wrong("a plan has no handle");
    const Use use(plan.get<Handle *>(400));
    if (!use.is_alone()) return wrong("a handle is used by two threads");
    if (plan.has(405)) {
        const std::string text(plan.values[405].bytes.begin(), plan.values[405].bytes.end());
        const char *at = text.c_str();
        plan.values[kItsGraph] = {kOfObject, {}, {from_text(at)}};
        return kSuccess;
    }
    if (!plan.object(401)) return wrong("a plan has no configuration");
    const Shared engine = plan.object(401)->object(300);
    if (engine->has(kIsUnsupported)) return wrong("the engine is not supported", kUnsupported);
    const bool is_compiled = !engine->values[1305].bytes.empty();
    if (is_compiled && !others_come()) return wrong("a kernel is made alone");
    plan.values[kItsGraph] = {kOfObject, {}, {plan.object(401)->object(kItsGraph)}};
    plan.values[kItsEngine] = {kOfObject, {}, {engine}};
    return kSuccess;
}

}  // namespace

int wrong(const char *sentence, int status) {
    last = sentence;
    if (status == kBad) std::fprintf(stderr, "simulated cuDNN: %s\n", sentence);
    return status;
}

bool has(const char *variable) { return std::getenv(variable) != nullptr; }

void *runtime_function(const char *name) {
    static void *const library = open_runtime();
    return library ? dlsym(library, name) : nullptr;
}

int enqueue(void *stream, const std::function<void()> &work) {
    using Launch = int (*)(void *, void (*)(void *), void *);
    static const auto launch = reinterpret_cast<Launch>(runtime_function("cudaLaunchHostFunc"));
    if (!launch) return wrong("there is no runtime");
    auto *kept = new std::function<void()>(work);  // a graph may run it again
    auto call = [](void *data) { (*static_cast<std::function<void()> *>(data))(); };
    return launch(stream, call, kept) == 0 ? kSuccess : kUnsupported;
}

Use::Use(Handle *handle) : handle_(handle), alone_(!handle->is_used.exchange(true)) {}

Use::~Use() {
    if (alone_) handle_->is_used = false;
}

}  // namespace primitives

using namespace primitives;

extern "C" {

size_t cudnnGetVersion() { return 91900; }
size_t cudnnGetCudartVersion() { return 12000; }
const char *cudnnGetErrorString(int) { return "CUDNN_STATUS_SIMULATED"; }
void cudnnGetLastErrorString(char *text, size_t size) {
    std::snprintf(text, size, "%s", last.c_str());
}
// The library ends the process if a dependency is missing; so does this.
int cudnnCreate(Handle **made) {
    for (const char *name : {"libcublasLt.so.12", "libnvrtc.so.12"})
        if (!dlopen(name, RTLD_NOW | RTLD_NOLOAD)) {
            std::fprintf(stderr, "simulated cuDNN: there is no %s\n", name);
            std::abort();
        }
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
    if (object.kind == kConvolutionOperation || object.kind == kGradientOperation)
        if (const char *problem = Convolution(object).problem())
            return wrong(problem, kUnsupported);
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
        const auto found = candidates_of(*graph, object.get<int>(200));
        *count = std::min(wanted, int64_t(found.size()));
        for (int64_t i = 0; i < *count; ++i) {
            Object &configuration = **static_cast<Shared **>(values)[i];
            configuration.values[kItsGraph] = {kOfObject, {}, {graph}};
            configuration.values[300] = {kOfObject, {}, {found[size_t(i)].engine()}};
            configuration.finished = true;
        }
        return kSuccess;
    }
    if (object.kind == kConfiguration && name == 300 && wanted == 1) {
        Object &engine = ***static_cast<Shared **>(values);
        if (engine.kind != kEngine) return wrong("the object is no engine");
        engine = *object.object(300);
        *count = 1;
        return kSuccess;
    }
    if (object.kind == kEngine && (name == 1303 || name == 1305)) {
        const Value &notes = object.values[name];
        if (type != notes.type) return wrong("notes have another type");
        *count = int64_t(notes.bytes.size() / 4);
        if (values) std::memcpy(values, notes.bytes.data(), size_t(std::min(wanted, *count)) * 4);
        return kSuccess;
    }
    if (object.kind == kPlan && name == 402) {
        const Shared engine = object.object(kItsEngine);  // none if the plan is from a text
        *count = 1;
        *static_cast<int64_t *>(values) = engine ? engine->get<int64_t>(kItsWorkspace) : kWorkspace;
        return kSuccess;
    }
    if (object.kind == kPlan && name == 405) {
        const std::string text = text_of(*object.object(kItsGraph));
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
    const Use use(handle);
    if (!use.is_alone()) return wrong("a handle is used by two threads");
    Call call;
    call.graph = (*plan)->object(kItsGraph);
    const Shared engine = (*plan)->object(kItsEngine);
    call.is_wrong = engine && engine->has(kIsWrong);
    const size_t count = pack.values[1000].bytes.size() / 8;
    if (pack.values[1001].bytes.size() != count * 8) return wrong("names and pointers differ");
    const auto tensors = tensors_of(*call.graph);
    std::set<int64_t> names;
    for (size_t i = 0; i < count; ++i) {
        const auto name = pack.get<int64_t>(1000, i);
        void *pointer = pack.get<void *>(1001, i);
        const auto tensor = tensors.find(name);
        if (tensor == tensors.end() || tensor->second->get<bool>(907))
            return wrong("a pointer is of no tensor");
        names.insert(name);
        if (tensor->second->get<bool>(908)) {
            call.constants[name] = *static_cast<float *>(pointer);
            continue;
        }
        if (!pointer || reinterpret_cast<uintptr_t>(pointer) % 16)
            return wrong("a pointer is null, or not aligned");
        call.pointers[name] = pointer;
    }
    for (const auto &[name, tensor] : tensors)
        if (!tensor->get<bool>(907) && !names.count(name)) return wrong("a tensor has no pointer");
    if (has("INFINI_SIMULATED_TRACE"))
        std::fprintf(stderr, "simulated cuDNN: a graph of %zu operations\n",
                     call.graph->values[801].objects.size());
    void *workspace = pack.get<void *>(1003);
    if (!workspace) return wrong("there is no workspace");
    return enqueue(handle->stream, [call] { run(call); });
}

}  // extern "C"
