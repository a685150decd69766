// The layout of a program's phase: which index space it goes over, and where each operand lies in it.
#pragma once

#include <infini/program.h>

#include <vector>

#include "kernel.h"
#include "program/functor.h"

namespace infini::cpu::program {

constexpr int kDims = 12;  // of a phase: eight, and those that views add
// More than any definition has; fused programs may come to it.
constexpr int kMostInputs = 24, kMostOutputs = 8, kMostOperands = 64, kMostShared = 24;
constexpr size_t kSplatBytes = 64;  // the widest vector

// Dimensions, outermost first. Neighbours that every operand passes through in one go are one.
struct Walk {
    int count = 0;
    int64_t size[kDims];

    int64_t total() const {
        int64_t product = 1;
        for (int i = 0; i < count; ++i) product *= size[i];
        return product;
    }
    // Coordinates of an index.
    void locate(int64_t index, int64_t *at) const {
        for (int i = count - 1; i > 0; --i) {
            at[i] = index % size[i];
            index /= size[i];
        }
        if (count) at[0] = index;
    }
};

// An operand.
struct Slot {
    enum Kind {
        kNone,      // not of this phase
        kTensor,    // in memory: a tensor, or what an earlier phase left in the workspace
        kPosition,  // like a tensor, but an offset is itself the value
        kShared,    // one value for all: an attribute, a scalar, an extent
        kElement,   // a temporary with a value for each element
        kRow,       // a temporary with a value for each row
    };
    Kind kind = kNone;
    int dtype = 0;      // of a tensor
    int bytes = 0;      // of an element
    int pointer = -1;   // of the run; -1: in the workspace
    int64_t start = 0;  // elements from the pointer, or bytes from the workspace
    int number = 0;     // among those of its kind
    bool run_time = false, integer = false;        // of shared values: how they are given
    double value = 0;                              // of shared values, when it is known,
    int64_t whole = 0;                             // and of integers exactly; else
    int scalar = 0;                                // the scalar of the run
    int64_t kept[kDims] = {}, folded[kDims] = {};  // strides, in elements

    int64_t along(const int64_t *strides, const Walk &walk, const int64_t *at) const {
        int64_t offset = 0;
        for (int i = 0; i < walk.count; ++i) offset += strides[i] * at[i];
        return offset;
    }
    char *base(const Arguments &arguments) const {
        if (kind == kPosition) return nullptr;
        if (pointer < 0) return arguments.workspace() + start;
        return arguments.pointer<char>(pointer) + start * bytes;
    }
};

struct Step {
    bool rows = false;    // once for each row
    bool copies = false;  // its only output is its only input
    const Functor *functor = nullptr;
    BlockFunction compute = nullptr;
    FoldFunction fold = nullptr;  // evaluates and folds in one go
    std::vector<int> inputs, outputs, folds, folded;
    bool folding = false;
    int64_t block = 0;  // elements in a call
};

struct Layout {
    ValueType type = kFloat;
    size_t value_bytes = 4;
    Walk kept, folded;
    std::vector<Slot> slots;  // by the program's numbers of operands
    std::vector<Step> steps;
    // Results for each row that later phases read: the row operand, and the slot (beyond those of the
    // program) of where they go.
    struct Spill {
        int row, slot;
    };
    std::vector<Spill> spills;
    int shared_count = 0, element_count = 0, row_count = 0;
    int64_t rows = 1, row_size = 1;

    // Of the phase before dimensions were joined; a row operand that later phases read has this
    // shape, the folded dimensions with size 1.
    int ndim = 0;
    int64_t size[kDims];
    bool is_folded[kDims];
};

// What earlier phases left in the workspace: for each operand of the program its shape.
struct Left {
    int64_t start = 0;  // bytes from the workspace
    int ndim = 0;
    int64_t size[kDims];
};

ValueType value_type(const Operation &operation, const InfiniProgram &program);

Layout lay_out(const Operation &operation, const InfiniProgram &program, int phase, ValueType type,
               const std::vector<Left> &left);

const Functor *find_functor(const char *name);

// A dtype's element in bytes.
int dtype_bytes(int dtype);

// The dtype of a value type.
constexpr int dtype_of(ValueType type) {
    return type == kFloat    ? INFINI_DTYPE_F32
           : type == kDouble ? INFINI_DTYPE_F64
           : type == kInt64  ? INFINI_DTYPE_I64
                             : INFINI_DTYPE_U64;
}

// Calls f with a value of the type.
template <class F>
auto with_type(ValueType type, F &&f) {
    switch (type) {
        case kFloat:
            return f(float{});
        case kDouble:
            return f(double{});
        case kInt64:
            return f(int64_t{});
        default:
            return f(uint64_t{});
    }
}

}  // namespace infini::cpu::program
