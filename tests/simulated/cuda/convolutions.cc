// Convolutions of the libcudnn look-alike, computed by their definition.
#include <algorithm>
#include <cstdio>

#include "halves.h"
#include "primitives.h"

using namespace primitives;

namespace {

// Of tensors, and of windows.
struct Shape {
    int type = kFloat;
    std::vector<int64_t> sizes;

    int64_t size(size_t i) const { return i < sizes.size() ? sizes[i] : 1; }
    int64_t count() const {
        int64_t all = 1;
        for (int64_t size : sizes) all *= size;
        return all;
    }
    double read(const void *from, int64_t i) const {
        switch (type) {
            case kFloat:
                return static_cast<const float *>(from)[i];
            case kDouble:
                return static_cast<const double *>(from)[i];
            case kHalf:
                return half_to_double(static_cast<const uint16_t *>(from)[i]);
            default:
                return bfloat_to_double(static_cast<const uint16_t *>(from)[i]);
        }
    }
    void write(void *to, int64_t i, double value) const {
        if (type == kFloat) static_cast<float *>(to)[i] = float(value);
        if (type == kDouble) static_cast<double *>(to)[i] = value;
        if (type == kHalf) static_cast<uint16_t *>(to)[i] = double_to_half(value);
        if (type == kBfloat) static_cast<uint16_t *>(to)[i] = double_to_bfloat(value);
    }
};

struct Steps {
    std::vector<int64_t> pads, strides, dilations;
    int64_t groups = 1;
    int math = 0;
};

struct Algorithm {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
};
constexpr int kPrecomputed = 1;
constexpr size_t kWorkspace = 512;

struct Given {
    Shape x, w, y;
    Steps steps;
    const void *from, *window, *bias;
    void *to;

    void run() const {
        std::vector<int64_t> at(y.sizes.size(), 0);
        for (int64_t i = 0; i < y.count(); ++i) {
            int64_t rest = i;
            for (size_t d = at.size(); d-- > 0; rest /= y.sizes[d]) at[d] = rest % y.sizes[d];
            const double more = bias ? y.read(bias, at[1]) : 0;
            y.write(to, i, sum_at(at) + more);
        }
    }

private:
    double sum_at(const std::vector<int64_t> &at) const {
        const int64_t taps = w.count() / w.size(0) / w.size(1);
        const int64_t first = at[1] / (w.size(0) / steps.groups) * w.size(1);
        double sum = 0;
        for (int64_t channel = 0; channel < w.size(1); ++channel)
            for (int64_t tap = 0; tap < taps; ++tap) {
                const int64_t place = place_of(at, first + channel, tap);
                if (place < 0) continue;
                sum += x.read(from, place) *
                       w.read(window, (at[1] * w.size(1) + channel) * taps + tap);
            }
        return sum;
    }
    // -1: outside the image.
    int64_t place_of(const std::vector<int64_t> &at, int64_t channel, int64_t tap) const {
        int64_t place = 0, step = 1;
        for (size_t d = at.size(); d-- > 2; tap /= w.sizes[d]) {
            const int64_t where = at[d] * steps.strides[d - 2] - steps.pads[d - 2] +
                                  tap % w.sizes[d] * steps.dilations[d - 2];
            if (where < 0 || where >= x.sizes[d]) return -1;
            place += where * step;
            step *= x.sizes[d];
        }
        return place + (at[0] * x.sizes[1] + channel) * step;
    }
};

std::vector<int64_t> list(const int *values, int count) { return {values, values + count}; }

int convolve(Handle *handle, Given given, int algorithm, void *workspace, size_t bytes) {
    const Use use(handle);
    if (!use.is_alone()) return wrong("a handle is used by two threads");
    if (algorithm != kPrecomputed || bytes != kWorkspace || !workspace)
        return wrong("the algorithm or its workspace is not what was told");
    if (has("INFINI_SIMULATED_TRACE")) std::fprintf(stderr, "simulated cuDNN: a convolution\n");
    return enqueue(handle->stream, [given] { given.run(); });
}

template <class T>
int make(T **made) {
    *made = new T;
    return kSuccess;
}
template <class T>
int destroy(T *object) {
    delete object;
    return kSuccess;
}

}  // namespace

extern "C" {

int cudnnCreateTensorDescriptor(Shape **made) { return make(made); }
int cudnnCreateFilterDescriptor(Shape **made) { return make(made); }
int cudnnCreateConvolutionDescriptor(Steps **made) { return make(made); }
int cudnnCreateActivationDescriptor(int **made) { return make(made); }
int cudnnDestroyTensorDescriptor(Shape *object) { return destroy(object); }
int cudnnDestroyFilterDescriptor(Shape *object) { return destroy(object); }
int cudnnDestroyConvolutionDescriptor(Steps *object) { return destroy(object); }
int cudnnDestroyActivationDescriptor(int *object) { return destroy(object); }

int cudnnSetTensorNdDescriptor(Shape *object, int type, int count, const int *sizes,
                               const int *strides) {
    *object = {type, list(sizes, count)};
    for (int i = count - 1, step = 1; i >= 0; step *= sizes[i--])
        if (strides[i] != step) return wrong("elements do not lie beside each other", kUnsupported);
    return count < 4 ? wrong("a tensor has fewer than four dimensions") : kSuccess;
}
int cudnnSetFilterNdDescriptor(Shape *object, int type, int, int count, const int *sizes) {
    *object = {type, list(sizes, count)};
    return kSuccess;
}
int cudnnSetConvolutionNdDescriptor(Steps *object, int count, const int *pads, const int *strides,
                                    const int *dilations, int, int) {
    object->pads = list(pads, count), object->strides = list(strides, count);
    object->dilations = list(dilations, count);
    return kSuccess;
}
int cudnnSetConvolutionGroupCount(Steps *object, int groups) {
    object->groups = groups;
    return kSuccess;
}
int cudnnSetConvolutionMathType(Steps *object, int math) {
    object->math = math;
    return kSuccess;
}
int cudnnSetActivationDescriptor(int *object, int mode, int, double) {
    *object = mode;
    return kSuccess;
}
int cudnnGetConvolutionForwardAlgorithm_v7(Handle *handle, Shape *, Shape *, Steps *steps, Shape *,
                                           int wanted, int *count, Algorithm *results) {
    const Use use(handle);
    if (!use.is_alone()) return wrong("a handle is used by two threads");
    *count = std::min(wanted, 1);
    *results = {kPrecomputed, kSuccess, 1, kWorkspace, 1, steps->math, {}};
    return kSuccess;
}
int cudnnConvolutionForward(Handle *handle, const void *, Shape *x, const void *from, Shape *w,
                            const void *window, Steps *steps, int algorithm, void *workspace,
                            size_t bytes, const void *, Shape *y, void *to) {
    return convolve(handle, {*x, *w, *y, *steps, from, window, nullptr, to}, algorithm, workspace,
                    bytes);
}
int cudnnAddTensor(Handle *handle, const void *, Shape *b, const void *bias, const void *, Shape *y,
                   void *to) {
    const Shape from = *b, into = *y;
    return enqueue(handle->stream, [=] {
        const int64_t inner = into.count() / into.size(0) / into.size(1);
        for (int64_t i = 0; i < into.count(); ++i)
            into.write(to, i, into.read(to, i) + from.read(bias, i / inner % into.size(1)));
    });
}
// INFINI_SIMULATED_REFUSAL=1: rejects everything, after a failing call of the runtime.
int cudnnConvolutionBiasActivationForward(Handle *handle, const void *, Shape *x, const void *from,
                                          Shape *w, const void *window, Steps *steps, int algorithm,
                                          void *workspace, size_t bytes, const void *, Shape *,
                                          const void *, Shape *, const void *bias, int *activation,
                                          Shape *y, void *to) {
    constexpr int kIdentity = 5;
    if (*activation != kIdentity) return wrong("the activation is not the identity");
    if (has("INFINI_SIMULATED_REFUSAL")) {
        static const auto fail = reinterpret_cast<int (*)(void *)>(runtime_function("cudaFree"));
        static int no_memory;
        fail(&no_memory);
        return wrong("it takes no biases", kUnsupported);
    }
    return convolve(handle, {*x, *w, *y, *steps, from, window, bias, to}, algorithm, workspace,
                    bytes);
}

}  // extern "C"
