// Records of operators that are run unfused and fused, with equal results.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "infinicore.hpp"
#include "recorder.h"
// after them: the two runtime headers exclude each other
#include "check.h"

namespace ic = infinicore;
namespace icd = infinicore::detail;
using ic::DataType;
using ic::Tensor;

inline float half_to_float(uint16_t h) {
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    float value = exponent == 0    ? std::ldexp(float(mantissa), -24)
                  : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                   : std::ldexp(float(mantissa + 1024), exponent - 25);
    return h & 0x8000 ? -value : value;
}

// An element as a double; and the nearest value in a dtype, for moderate values.
inline double get(const std::byte *at, DataType dtype) {
    auto as = [&]<class T>(T value) {
        std::memcpy(&value, at, sizeof value);
        return value;
    };
    switch (dtype) {
        case DataType::F32:
            return as(float{});
        case DataType::F64:
            return as(double{});
        case DataType::I64:
            return double(as(int64_t{}));
        case DataType::I32:
            return as(int32_t{});
        case DataType::U8:
        case DataType::BOOL:
            return as(uint8_t{});
        case DataType::F16:
            return half_to_float(as(uint16_t{}));
        case DataType::BF16: {
            const uint32_t bits = uint32_t(as(uint16_t{})) << 16;
            float value;
            std::memcpy(&value, &bits, 4);
            return value;
        }
        default:
            CHECK(!"a dtype that the test does not use");
            return 0;
    }
}

inline double rounding(DataType dtype) {
    switch (dtype) {
        case DataType::F16:
            return 1e-3;
        case DataType::BF16:
            return 8e-3;
        case DataType::F32:
            return 2e-6;
        default:
            return 1e-12;
    }
}

// Records the operations called on it.
class Record {
public:
    explicit Record(unsigned seed = 1) : random(seed), recorder_(false) {}

    std::mt19937 random;
    int draw(int n) { return int(random() % unsigned(n)); }

    // A tensor that exists before the record: multiples of an eighth in [-3, 3], through a cast.
    Tensor input(const ic::Shape &shape, DataType dtype = DataType::F32) {
        return input(shape, ic::contiguous_strides(shape), dtype);
    }
    Tensor input(const ic::Shape &shape, const ic::Strides &strides, DataType dtype) {
        icd::thread_state().recorder = nullptr;
        Tensor values = Tensor::empty(shape, DataType::F32, ic::Device::cpu());
        auto *to = reinterpret_cast<float *>(values->data());
        for (size_t i = 0; i < values->numel(); ++i) to[i] = float(draw(49) - 24) / 8;
        Tensor made = Tensor::strided_empty(shape, strides, dtype, ic::Device::cpu());
        if (made->numel()) operate("cast", {made, values});
        inputs_.push_back(made);
        return made;
    }
    // For a result.
    Tensor result(const ic::Shape &shape, DataType dtype = DataType::F32) {
        icd::thread_state().recorder = &recorder_;
        Tensor made = Tensor::empty(shape, dtype, ic::Device::cpu());
        icd::thread_state().recorder = nullptr;
        memories_.push_back(made->memory());
        return made;
    }

    // Tensors in the order of the create function.
    void record(const char *name, const std::vector<Tensor> &tensors,
                std::vector<icd::Value> attributes = {}, std::vector<icd::Value> scalars = {}) {
        icd::thread_state().recorder = &recorder_;
        operate(name, tensors, std::move(attributes), std::move(scalars));
        icd::thread_state().recorder = nullptr;
    }
    // A new tensor like the first of them.
    Tensor map(const char *name, const std::vector<Tensor> &from) {
        return map(name, from, from[0]->dtype());
    }
    Tensor map(const char *name, const std::vector<Tensor> &from, DataType dtype) {
        std::vector<Tensor> tensors = {result(from[0]->shape(), dtype)};
        tensors.insert(tensors.end(), from.begin(), from.end());
        record(name, tensors);
        return tensors[0];
    }
    Tensor cast(const Tensor &x, DataType dtype) { return map("cast", {x}, dtype); }
    Tensor softmax(const Tensor &x, int axis) {
        Tensor y = result(x->shape(), x->dtype());
        record("softmax", {y, x}, {{.i = axis}});
        return y;
    }
    Tensor rms_norm(const Tensor &x, const Tensor &w) {
        Tensor y = result(x->shape(), x->dtype());
        record("rms_norm", {y, x, w}, {{.f = 1e-5}});
        return y;
    }
    Tensor sum(const Tensor &x, size_t dim, bool keep) {
        ic::Shape shape = x->shape();
        if (keep)
            shape[dim] = 1;
        else
            shape.erase(shape.begin() + ptrdiff_t(dim));
        Tensor y = result(shape, x->dtype());
        dims_.push_back(std::make_shared<size_t>(dim));
        std::vector<icd::Value> values = {{.list = dims_.back().get()}, {.i = 1}, {.i = keep}};
        record("sum", {y, x}, values, values);
        return y;
    }
    Tensor gemm(const Tensor &a, const Tensor &b, double alpha = 1) {
        ic::Shape shape = a->shape();
        shape.back() = b->shape().back();
        Tensor c = result(shape, a->dtype());
        record("gemm", {c, a, b}, {}, {{.f = alpha}, {.f = 0}});
        return c;
    }
    static Tensor spread(const Tensor &x, const ic::Shape &shape) {  // a vector, or one number
        ic::Strides strides(shape.size(), 0);
        if (x->ndim()) strides.back() = x->stride(x->ndim() - 1);
        return x->view_as(shape, strides, x->dtype(), 0);
    }

    // Runs the record unfused and fused, and compares `wanted` and the tensors that existed before.
    // Returns the names of the fused nodes.
    std::vector<std::string> compare(const std::vector<Tensor> &wanted, double tolerance = 0) {
        std::set<const ic::Memory *> needed;
        for (const Tensor &tensor : wanted) needed.insert(tensor->memory().get());
        const auto fused =
            icd::fuse(recorder_.nodes, [&](const ic::Memory *m) { return needed.contains(m); });
        std::vector<std::vector<std::byte>> before, expected;
        for (const Tensor &input : inputs_) before.push_back(bytes(input));
        auto run = [&](const std::vector<icd::Node> &nodes) {
            for (size_t i = 0; i < inputs_.size(); ++i)
                if (!before[i].empty())
                    std::memcpy(inputs_[i]->memory()->data(), before[i].data(), before[i].size());
            for (const auto &memory : memories_)  // makes unwritten elements visible
                if (memory->size()) std::memset(memory->data(), 0x7b, memory->size());
            for (const icd::Node &node : nodes) {
                std::vector<void *> pointers;
                for (const icd::Location &location : node.locations)
                    pointers.push_back(location.memory ? location.memory->data() + location.offset
                                                       : nullptr);
                node.step->launch(pointers.data(), nullptr);
            }
        };
        std::vector<Tensor> seen = wanted;
        seen.insert(seen.end(), inputs_.begin(), inputs_.end());
        run(recorder_.nodes);
        for (const Tensor &tensor : seen) expected.push_back(bytes(tensor));
        run(fused);
        std::vector<std::string> names;
        for (const icd::Node &node : fused) names.push_back(node.step->name);
        for (size_t i = 0; i < seen.size(); ++i) same(seen[i], expected[i], tolerance, names);
        return names;
    }

private:
    void operate(const char *name, const std::vector<Tensor> &tensors,
                 std::vector<icd::Value> attributes = {}, std::vector<icd::Value> scalars = {}) {
        const icd::Row *row = icd::find_row(name);
        CHECK(row);
        std::vector<std::vector<const ic::TensorImpl *>> given;
        for (const Tensor &tensor : tensors) given.push_back({tensor ? &*tensor : nullptr});
        auto step = icd::describe(*row, 0, given, {std::move(attributes), {}, {}},
                                  {std::move(scalars), {}, {}});
        std::vector<const ic::TensorImpl *> places;
        for (size_t i = 0; row->runs[0].pointers[i]; ++i)
            places.push_back(given.at(size_t(row->runs[0].tensors[i]))[0]);
        icd::perform(step, places);
    }

    static std::vector<std::byte> bytes(const Tensor &tensor) {
        const auto &memory = tensor->memory();
        return {memory->data(), memory->data() + memory->size()};
    }

    static void same(const Tensor &tensor, const std::vector<std::byte> &expected, double tolerance,
                     const std::vector<std::string> &names) {
        const std::byte *found = tensor->memory()->data();
        if (expected.empty() || std::memcmp(found, expected.data(), expected.size()) == 0) return;
        const size_t bytes = tensor->element_size();
        for (size_t at = 0; at + bytes <= expected.size(); at += bytes) {
            const double x = get(found + at, tensor->dtype());
            const double y = get(expected.data() + at, tensor->dtype());
            if ((std::isnan(x) && std::isnan(y)) || x == y) continue;
            if (std::fabs(x - y) <= tolerance * (1 + std::fabs(y))) continue;
            std::fprintf(stderr, "%s: element %zu is %g, expected %g, in", tensor->info().c_str(),
                         at / bytes, x, y);
            for (const std::string &name : names) std::fprintf(stderr, " %s", name.c_str());
            std::fprintf(stderr, "\n");
            std::exit(1);
        }
    }

    icd::Recorder recorder_;
    std::vector<Tensor> inputs_;
    std::vector<std::shared_ptr<ic::Memory>> memories_;
    std::vector<std::shared_ptr<size_t>> dims_;
};

using Names = std::vector<std::string>;

// The remaining nodes.
inline void expect(const Names &found, const Names &expected) {
    if (found == expected) return;
    for (const std::string &name : found) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, " found, expected");
    for (const std::string &name : expected) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    std::exit(1);
}
