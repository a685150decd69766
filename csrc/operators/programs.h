// The programs that the build generated from the operators' definitions.
#pragma once

#include <infini/backend.h>
#include <infini/program.h>

#include <cstddef>
#include <cstdint>

namespace infini::op {

// A condition: an attribute has a value.
struct ProgramCondition {
    int32_t attribute;
    int64_t value;
};

// A program applies to one combination of optional tensors and of flag and enumerator values.
struct ProgramCase {
    const char *operation;
    const InfiniProgram *program;
    uint64_t absent;  // a bit for each tensor that must be absent; other optional ones are present
    const ProgramCondition *conditions;
    size_t condition_count;
};

// Generated, ordered by operation.
extern const ProgramCase kProgramCases[];
extern const size_t kProgramCaseCount;

// The identity functor: y[0] = x[0].
extern const char *const kCopyFunctor, *const kCopySource;
extern const InfiniExpression *const kCopyExpression;

// The program for an operation; null if it has none, or none for its attributes.
const InfiniProgram *find_program(const InfiniOperation &operation);

}  // namespace infini::op
