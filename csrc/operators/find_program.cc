#include <algorithm>
#include <cstring>

#include "programs.h"

namespace infini::op {

namespace {

bool fits(const ProgramCase &candidate, const InfiniOperation &operation) {
    uint64_t absent = 0;
    for (size_t i = 0; i < operation.tensor_count && i < 64; ++i)
        if (operation.tensors[i].dtype == 0) absent |= uint64_t(1) << i;
    if (absent != candidate.absent) return false;
    for (size_t i = 0; i < candidate.condition_count; ++i) {
        const ProgramCondition &condition = candidate.conditions[i];
        if (operation.attributes[condition.attribute].value.i != condition.value) return false;
    }
    return true;
}

}  // namespace

const InfiniProgram *find_program(const InfiniOperation &operation) {
    const ProgramCase *end = kProgramCases + kProgramCaseCount;
    const ProgramCase *candidate = std::lower_bound(
        kProgramCases, end, operation.name,
        [](const ProgramCase &a, const char *b) { return std::strcmp(a.operation, b) < 0; });
    for (; candidate != end && std::strcmp(candidate->operation, operation.name) == 0; ++candidate)
        if (fits(*candidate, operation)) return candidate->program;
    return nullptr;
}

}  // namespace infini::op
