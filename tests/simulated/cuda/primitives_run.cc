// Graphs of the libcudnn look-alike, evaluated one operation after the other.
#include <algorithm>
#include <cmath>

#include "halves.h"
#include "primitives.h"

namespace primitives {
namespace {

using Sizes = std::vector<int64_t>;

struct Array {
    int type = kFloat;
    Sizes sizes{}, strides{};
    void *data = nullptr;          // given
    std::vector<double> elements;  // inside

    size_t offset_of(const Sizes &place) const {
        int64_t offset = 0;
        for (size_t i = 0; i < sizes.size(); ++i)
            offset += sizes[i] == 1 ? 0 : place[i] * strides[i];
        return size_t(offset);
    }
    double read(const Sizes &place) const {
        const size_t offset = offset_of(place);
        if (!data) return elements[offset];
        const auto half = static_cast<const uint16_t *>(data);
        if (type == kHalf) return half_to_double(half[offset]);
        if (type == kBfloat) return bfloat_to_double(half[offset]);
        if (type == kDouble) return static_cast<const double *>(data)[offset];
        return static_cast<const float *>(data)[offset];
    }
    void write(const Sizes &place, double value) {
        const size_t offset = offset_of(place);
        const bool is_short = type == kHalf || type == kBfloat;
        const uint16_t half = type == kHalf ? double_to_half(value) : double_to_bfloat(value);
        if (!data)
            elements[offset] = type == kHalf     ? half_to_double(half)
                               : type == kBfloat ? bfloat_to_double(half)
                               : type == kDouble ? value
                                                 : double(float(value));
        else if (is_short)
            static_cast<uint16_t *>(data)[offset] = half;
        else if (type == kDouble)
            static_cast<double *>(data)[offset] = value;
        else
            static_cast<float *>(data)[offset] = float(value);
    }
};

// The last dimension is the innermost loop.
template <class F>
void each(const Sizes &sizes, F visit) {
    Sizes p(sizes.size(), 0);
    for (;;) {
        visit(p);
        size_t d = sizes.size();
        while (d-- > 0 && ++p[d] == sizes[d]) p[d] = 0;
        if (d == size_t(-1)) return;
    }
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

struct Evaluation {
    const Call &call;
    std::map<int64_t, Array> arrays{};

    Array &array(const Shared &tensor) {
        const auto name = tensor->get<int64_t>(906);
        const auto [place, added] = arrays.try_emplace(name);
        Array &a = place->second;
        if (!added) return a;
        a.type = tensor->get<int>(901);
        const size_t dims = tensor->values.at(902).bytes.size() / 8;
        int64_t count = 1;
        for (size_t i = 0; i < dims; ++i) {
            a.sizes.push_back(tensor->get<int64_t>(902, i));
            a.strides.push_back(tensor->get<int64_t>(903, i));
            count *= a.sizes[i];
        }
        if (tensor->get<bool>(907))
            a.elements.resize(size_t(count));
        else if (tensor->get<bool>(908))
            a.elements = {call.constants.at(name)};
        else
            a.data = call.pointers.at(name);
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
    void convolve(const Object &operation) {
        const Convolution convolution(operation);
        const auto values = [this](const Shared &tensor) {
            const Array &a = array(tensor);
            std::vector<double> all;
            each(a.sizes, [&](const Sizes &p) { all.push_back(a.read(p)); });
            return all;
        };
        const auto results = convolution.run(values(convolution.x), values(convolution.w));
        Array &y = array(convolution.y);
        size_t i = 0;
        each(y.sizes, [&](const Sizes &p) {
            const double before = convolution.beta == 0 ? 0 : convolution.beta * y.read(p);
            // An engine that must not be chosen is noticed by its results.
            y.write(p, call.is_wrong ? NAN : results[i] + before);
            ++i;
        });
    }
    void run() {
        for (const Shared &operation : call.graph->values[801].objects) {
            if (operation->kind == kProductOperation) multiply(*operation);
            if (operation->kind == kReductionOperation) reduce(*operation);
            if (operation->kind == kPointwiseOperation) apply(*operation);
            if (operation->kind == kConvolutionOperation || operation->kind == kGradientOperation)
                convolve(*operation);
        }
    }
};

}  // namespace

std::map<int64_t, Shared> tensors_of(const Object &graph) {
    std::map<int64_t, Shared> found;
    for (const Shared &operation : graph.values.at(801).objects)
        for (const auto &[name, value] : operation->values)
            for (const Shared &part : value.objects)
                if (part->kind == kTensor) found[part->get<int64_t>(906)] = part;
    return found;
}

void run(const Call &call) { Evaluation{call}.run(); }

}  // namespace primitives
