// Values as text.
#pragma once

#include <string>

#include "infinicore/tensor.hpp"

namespace infinicore::detail {

struct PrintOptions {
    int line_width = 80;
    int threshold = 1000;  // tensors with more elements are abbreviated
    int edge_items = 3;
    int precision = 4;
    int sci_mode = -1;  // -1: depending on the values; 0: never; 1: always
};

INFINI_EXPORT PrintOptions print_settings();

// The values in brackets. Lines after the first begin with `indent` spaces.
INFINI_EXPORT std::string text_of_values(const Tensor &tensor, size_t indent,
                                         const PrintOptions &options);

}  // namespace infinicore::detail
