// Graphs of the libcudnn look-alike, evaluated one operation after the other.
#include <algorithm>
#include <array>
#include <cmath>

#include "halves.h"
#include "primitives.h"

namespace primitives {
namespace {

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

struct Evaluation {
    const Call &call;
    std::map<int64_t, Array> arrays{};

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
    void run() {
        for (const Shared &operation : call.graph->values[801].objects) {
            if (operation->kind == kProductOperation) multiply(*operation);
            if (operation->kind == kReductionOperation) reduce(*operation);
            if (operation->kind == kPointwiseOperation) apply(*operation);
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
