/* pad as planners see it: the mode, and the input's position in each dimension of the output,
 * checked. For back ends written in C++. Header only. */
#ifndef INFINI_PAD_CASE_H
#define INFINI_PAD_CASE_H

#include <algorithm>

#include "refuse.h"

namespace infini {

enum class PadMode { kConstant, kReflect, kReplicate, kCircular };

struct PadCase {
    PadMode mode;
    int64_t before[Shape::kMost];  // elements of the output before the input's; negative: left out
    double value;                  // the constant

    explicit PadCase(const Operation &operation)
        : mode(mode_of(operation.text(2))), value(operation.number(3)) {
        const Tensor to = operation.tensor(0), from = operation.tensor(1);
        const int64_t *pads = operation.list(0);
        const int count = pads ? int(operation.count(0)) : 0;
        for (int d = 0; d < to.ndim; ++d) {
            const int pair = 2 * (to.ndim - 1 - d);
            const int64_t after = pair + 1 < count ? pads[pair + 1] : 0, size = from.shape[d];
            before[d] = pair < count ? pads[pair] : 0;
            const int64_t most = std::max(before[d], after);
            if (mode == PadMode::kReflect && most >= std::max<int64_t>(size, 1))
                refuse_parameter("pad: more to reflect than there is");
            if (to.shape[d] != size + before[d] + after)
                refuse_shape("pad: the output's sizes are not those of the input with the padding");
            if (mode != PadMode::kConstant && size == 0 && most > 0)
                refuse_shape("pad: this mode needs elements to take from");
        }
    }

private:
    static PadMode mode_of(const char *text) {
        const std::string mode = text ? text : "";
        return mode == "reflect"     ? PadMode::kReflect
               : mode == "replicate" ? PadMode::kReplicate
               : mode == "circular"  ? PadMode::kCircular
                                     : PadMode::kConstant;
    }
};

}  // namespace infini
#endif
