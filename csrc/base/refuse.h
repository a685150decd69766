/* Refusals by planners. For back ends written in C++. Header only. */
#ifndef INFINI_REFUSE_H
#define INFINI_REFUSE_H

#include <infini/operation.h>

namespace infini {

[[noreturn]] inline void refuse_shape(const std::string &sentence) {
    throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, sentence};
}
[[noreturn]] inline void refuse_parameter(const std::string &sentence) {
    throw Refusal{INFINI_STATUS_BAD_PARAM, sentence};
}

}  // namespace infini
#endif
