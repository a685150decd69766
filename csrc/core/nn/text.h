// Values in messages.
#pragma once

#include <cstdio>
#include <string>

#include "infinicore/types.hpp"

namespace infinicore::nn {

inline std::string text_of(const Shape &shape) {
    std::string text = "[";
    for (Size size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    return text + "]";
}

// As a program would write it: 1e-06, 10000.
inline std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

}  // namespace infinicore::nn
