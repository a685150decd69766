// Shared by the tests of infinicore's C++ interface.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "infinicore.hpp"
// after it: the two runtime headers exclude each other
#include "check.h"

using namespace infinicore;

// From the CUDA-aligned header, which this file cannot include.
extern "C" int infinirtLaunchHostFunc(void *stream, void (*function)(void *), void *data);

// The statement throws, and the message contains all these words.
#define THROWS(statement, ...)                                                                   \
    do {                                                                                         \
        std::string said_ = "nothing";                                                           \
        try {                                                                                    \
            statement;                                                                           \
        } catch (const std::runtime_error &error) {                                              \
            said_ = error.what();                                                                \
        }                                                                                        \
        for (const char *word : {__VA_ARGS__})                                                   \
            if (said_.find(word) == std::string::npos) {                                         \
                std::fprintf(stderr, "%s:%d: %s said \"%s\", expected \"%s\" in it\n", __FILE__, \
                             __LINE__, #statement, said_.c_str(), word);                         \
                std::exit(1);                                                                    \
            }                                                                                    \
    } while (0)

inline Tensor numbers(const Shape &shape) {
    Tensor tensor = Tensor::empty(shape, DataType::F32, Device::cpu());
    auto *data = reinterpret_cast<float *>(tensor->data());
    for (size_t i = 0; i < tensor->numel(); ++i) data[i] = float(i);
    return tensor;
}

// The elements in order, whatever the strides.
inline std::vector<float> values(const Tensor &tensor) {
    Tensor host = tensor->contiguous()->to(Device::cpu());
    DeviceEvent done(Device::cpu());
    done.record();
    done.synchronize();
    std::vector<float> list(host->numel());
    if (!list.empty()) std::memcpy(list.data(), host->data(), list.size() * sizeof(float));
    return list;
}
