// Tensors with consecutive values, a small module, and messages of the module checks.
#pragma once

#include <cstdio>
#include <functional>
#include <infinicore/graph.hpp>
#include <infinicore/nn.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace infinicore;

inline bool throws(const std::function<void()> &call, const std::vector<std::string> &texts) {
    try {
        call();
    } catch (const std::runtime_error &error) {
        for (const std::string &text : texts) {
            if (std::string(error.what()).find(text) != std::string::npos) continue;
            std::printf("\"%s\" is not in \"%s\"\n", text.c_str(), error.what());
            return false;
        }
        return true;
    }
    return false;
}

inline Tensor counting(const Shape &shape, float start = 0) {
    Tensor made = Tensor::empty(shape, DataType::F32, Device::cpu());
    auto *values = reinterpret_cast<float *>(made->data());
    for (size_t i = 0; i < made->numel(); ++i) values[i] = start + float(i);
    return made;
}

inline bool equal(const Tensor &tensor, const std::vector<float> &expected) {
    Tensor dense = tensor->contiguous();
    context::syncStream();
    auto *values = reinterpret_cast<const float *>(dense->data());
    if (dense->numel() != expected.size()) return false;
    for (size_t i = 0; i < expected.size(); ++i)
        if (std::fabs(values[i] - expected[i]) > 1e-5f) return false;
    return true;
}

class Scale : public nn::Module {
public:
    Scale(size_t size, Device device) {
        INFINICORE_NN_PARAMETER_INIT(scale, ({size}, DataType::F32, device));
        INFINICORE_NN_BUFFER_INIT(table, ({size, 2}, DataType::F32, device));
    }
    void process_weights_after_loading() override { ++processed; }
    Tensor scale() const { return scale_; }
    Tensor table() const { return table_; }
    int processed = 0;

protected:
    INFINICORE_NN_PARAMETER(scale);
    INFINICORE_NN_BUFFER(table);
};
