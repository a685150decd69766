// A libcudnn look-alike: shared definitions. Arguments are checked strictly: it rejects what the
// library would reject.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace primitives {

constexpr int kSuccess = 0, kBad = 2000, kUnsupported = 3000;
enum { kFloat = 0, kDouble = 1, kHalf = 2, kBfloat = 9 };  // cuDNN's numbers

// Records the library's message, and returns the status.
int wrong(const char *sentence, int status = kBad);
// Runs it in the stream, and at every replay of a graph.
int enqueue(void *stream, const std::function<void()> &work);
// A function of the runtime in the same folder as this library.
void *runtime_function(const char *name);
bool has(const char *variable);  // of the environment

struct Handle {
    void *stream = nullptr;
    std::atomic<bool> is_used{false};
};

// One thread at a time: the library documents this for its handles, but does not check it.
class Use {
public:
    explicit Use(Handle *handle);
    ~Use();
    bool is_alone() const { return alone_; }

private:
    Handle *const handle_;
    const bool alone_;
};

// ---- Graphs -------------------------------------------------------------------------------------

// Kinds of objects, types of values and names of attributes are cuDNN's numbers.
enum { kPointwise = 0, kEngine = 2, kConfiguration = 3, kHeuristics = 4, kPlan = 5 };
enum { kConvolutionOperation = 10, kGradientOperation = 12, kPointwiseOperation = 13 };
enum { kGraph = 15, kPack = 16, kTensor = 17, kProductOperation = 19, kReductionOperation = 22 };
enum { kOfInteger = 3, kOfDouble = 5, kOfNumericalNote = 11, kOfObject = 15 };
enum { kOfBehaviorNote = 19, kOfCharacter = 24 };

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

std::map<int64_t, Shared> tensors_of(const Object &graph);  // by name

// A convolution, or the gradient with respect to an image. Tensors are dense.
class Convolution {
public:
    explicit Convolution(const Object &operation);
    const char *problem() const;  // why it is not one; null if it is

    // Elements of y without beta.
    std::vector<double> run(const std::vector<double> &image,
                            const std::vector<double> &window) const;

    bool is_transposed = false, is_double = false;
    Shared x, w, y;
    double beta = 0;

private:
    int64_t place_of(int64_t position, int64_t tap) const;

    bool is_complete_ = false;
    std::vector<int64_t> pads_, steps_, dilations_, x_sizes_, w_sizes_, y_sizes_;
};

// All arguments of a call, by value: a graph may run it again.
struct Call {
    Shared graph;
    std::map<int64_t, void *> pointers;
    std::map<int64_t, float> constants;
    bool is_wrong = false;  // the engine was to be avoided
};
void run(const Call &call);

}  // namespace primitives
