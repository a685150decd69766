/* The loop nest of a program's phase: its index space, and how each operand is addressed in it. For
 * program engines written in C++. Header only; built by make_loop_nest.h. */
#ifndef INFINI_LOOP_NEST_H
#define INFINI_LOOP_NEST_H

#include <infini/operation.h>
#include <infini/program.h>

#include <vector>

namespace infini::program {

// The type that a program computes in.
enum ValueType { kFloat, kDouble, kInt64, kUint64, kValueTypes };

constexpr int kDims = 12;  // of a phase: eight, and those that views add
// More than any definition has; fused programs may reach it.
constexpr int kMostInputs = 24, kMostOutputs = 8, kMostOperands = 64, kMostShared = 24;

// Dimensions, outermost first. Adjacent ones that are contiguous for every operand are merged.
struct Walk {
    int count = 0;
    int64_t size[kDims];

    int64_t total() const {
        int64_t product = 1;
        for (int i = 0; i < count; ++i) product *= size[i];
        return product;
    }
    // The coordinates of an index.
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
        kTensor,    // in memory: a tensor, or what an earlier phase spilled
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

// A stage of the program. Engines derive their own from it.
struct Stage {
    int number = 0;       // in the program
    bool rows = false;    // once for each row
    bool copies = false;  // its only output is its only input
    bool folding = false;
    std::vector<int> inputs, outputs, folds, folded;
};

template <class Stage>
struct LoopNestOf {
    ValueType type = kFloat;
    size_t value_bytes = 4;
    Walk kept, folded;
    std::vector<Slot> slots;  // by the program's numbers of operands
    std::vector<Stage> stages;
    // Results per row that later phases read: the row operand, and the slot (beyond those of the
    // program) that they are stored in.
    struct Spill {
        int row, slot;
    };
    std::vector<Spill> spills;
    int shared_count = 0, element_count = 0, row_count = 0;
    int64_t rows = 1, row_size = 1;

    // The phase's shape before dimensions were merged; a row operand that later phases read has
    // this shape, with size 1 in the folded dimensions.
    int ndim = 0;
    int64_t size[kDims];
    bool is_folded[kDims];
};

// What an earlier phase spilled to the workspace: address and shape, by operand of the program.
struct Spilled {
    int64_t start = 0;  // bytes from the workspace
    int ndim = 0;
    int64_t size[kDims];
};

// The dtype of a value type.
constexpr int dtype_of(ValueType type) {
    return type == kFloat    ? INFINI_DTYPE_F32
           : type == kDouble ? INFINI_DTYPE_F64
           : type == kInt64  ? INFINI_DTYPE_I64
                             : INFINI_DTYPE_U64;
}

inline ValueType value_type(const Operation &operation, const InfiniProgram &program) {
    bool floats = false, unsigned_ = false;
    for (int i = 0; i < operation.tensor_count(); ++i) {
        switch (operation.tensor(i).dtype) {
            case INFINI_DTYPE_F64:
                return kDouble;
            case INFINI_DTYPE_F8:
            case INFINI_DTYPE_F16:
            case INFINI_DTYPE_BF16:
            case INFINI_DTYPE_F32:
                floats = true;
                break;
            case INFINI_DTYPE_U64:
                unsigned_ = true;
                break;
            default:
                break;
        }
    }
    if (floats) return program.flags & INFINI_PROGRAM_WIDE ? kDouble : kFloat;
    return unsigned_ ? kUint64 : kInt64;
}

}  // namespace infini::program
#endif
