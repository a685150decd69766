#include "call_arguments.h"

#include "infiniop.h"
#include "layout.h"

namespace infinicore::detail {

int64_t reduction_of(const char *function, const std::string &word) {
    if (word == "none") return INFINIOP_REDUCTION_NONE;
    if (word == "mean") return INFINIOP_REDUCTION_MEAN;
    if (word == "sum") return INFINIOP_REDUCTION_SUM;
    fail(function, "reduction is \"" + word + "\": expected \"none\", \"mean\" or \"sum\"");
}

void refuse_empty(const char *function, const char *argument) {
    fail(function, std::string(argument) + " is empty: expected a tensor");
}

void refuse(const char *function, const char *reason) { fail(function, reason); }

}  // namespace infinicore::detail
