// The operators by number, and their run functions under one signature each: what the generated
// calls.cc fills in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "infiniop.h"
#include "value.h"

namespace infinicore::detail {

using Value = InfiniValue;
using Run = infiniStatus_t(InfiniopDescriptor *descriptor, void *workspace, size_t workspace_size,
                           void *const *pointers, const Value *scalars, void *stream);

struct RunRow {
    const char *name;
    // One letter for each parameter. Pointers: p data that is read, w data that is written, a an
    // array of them, h host memory that the call fills. Scalars, and the attributes of Row: i, j
    // (32 bits), u (not negative), f; lists of int32_t I, int64_t L, float F, double D; s text; - a
    // list that repeats an attribute and so may be null.
    const char *pointers, *scalars;
    const signed char *tensors;  // for each pointer the tensor it belongs to; -1: none
    // For each scalar: + the kernel gets it, - it only repeats an attribute. Null: with arrays and
    // lists the kernel's arguments differ.
    const char *passed;
    Run *call;
};

// Properties of an operator, from its declaration.
enum Trait : uint8_t {
    kRandom = 1,         // its first scalars are a seed and an offset, others in each run
    kRounds = 2,         // rounds its result to the tensor's dtype on purpose
    kCopies = 4,         // returns its input unchanged
    kTakesEpilogue = 8,  // a map may follow its kernel, see InfiniOperation
};

struct Row {
    const char *name;
    const char *tensors;  // p one, a an array of them
    const char *attributes;
    const RunRow *runs;
    int run_count;
    uint8_t traits;  // of Trait
};

INFINI_EXPORT extern const Row kRows[];  // in alphabetical order
INFINI_EXPORT extern const int kRowCount;

}  // namespace infinicore::detail
