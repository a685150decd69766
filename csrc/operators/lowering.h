// Lowering: composite operators as sequences of other operators, the same for all back ends.
//
//     void lower_Flipud(Lowering &lowering) {
//         lowering.step(Op::Rearrange, {lowering.argument(0), lowering.argument(1).flipped(0)});
//     }
//
// An operator that is declared with `lowered=True` has such a function. It runs when the operator
// is described; its steps are planned then, and launched in order by each run. Temporaries between
// the steps are in the workspace, in dtypes that the function chooses.
#pragma once

#include <infini/operation.h>

#include <optional>

#include "table.h"

namespace infini::op {

// A tensor of a step: a view of a tensor of the call or of the workspace.
struct View : Shape {
    static constexpr int kWorkspace = -1, kNoMemory = -2;
    int pointer = kNoMemory;  // of the call
    int64_t offset = 0;       // bytes

    int64_t numel() const;
    // Entries [begin, begin + count) of a dimension.
    View sliced(int dim, int64_t begin, int64_t count) const;
    // The tensor with a dimension reversed.
    View flipped(int dim) const;
    View transposed(int a, int b) const;
    // With an inserted dimension of size 1.
    View expanded(int dim) const;
    // Splits a dimension into several, whose sizes multiply to its size.
    View split(int dim, std::initializer_list<int64_t> sizes) const;
    // Merges `count` dimensions from `first` on; empty if their strides do not allow it.
    std::optional<View> joined(int first, int count) const;
    // The same layout without memory, for a tensor that a step does not access.
    View without_memory() const;
};

// An attribute of a step. Integers must be int64_t, so that they are not taken for doubles.
struct Attribute {
    Attribute(double number) : c{{.f = number}, number, nullptr, 0} {}
    Attribute(int64_t integer) : c{{.i = integer}, double(integer), nullptr, 0} {}
    Attribute(bool flag) : Attribute(int64_t(flag)) {}
    Attribute(std::nullptr_t) : c{} {}  // a list or text that is not given
    Attribute(const std::vector<int64_t> &list);
    Attribute(const char *text);

    InfiniAttribute c;
    std::vector<int64_t> kept;  // what a list or text is in
};

class Lowering {
public:
    using Tensors = std::vector<View>;
    using Numbers = std::vector<double>;
    using Attributes = std::vector<Attribute>;

    Lowering(const InfiniTarget &target, const InfiniOperation &operation, Planned &planned)
        : operation(operation), target_(target), planned_(planned) {}

    const Operation operation;

    // A tensor of the call. Tensors are numbered like their pointers.
    View argument(int tensor) const;
    // Dense workspace memory, for this call.
    View temporary(int dtype, const std::vector<int64_t> &sizes);

    // Appends an operator: its tensors in the order of its pointers, its attributes, and its
    // run-time scalars.
    void step(Op op, const Tensors &tensors, const Attributes &attributes = {},
              const Numbers &scalars = {});
    // Appends a kernel with an epilogue; see InfiniOperation. Returns false if the back end has no
    // such kernel. The program must live as long as the process.
    bool step_with(Op kernel, const InfiniProgram &epilogue, const Tensors &tensors,
                   const Numbers &scalars);

    // Merges `count` dimensions from `first` on, in a dense copy if needed.
    View joined(const View &view, int first, int count);
    // The tensor in another dtype: itself, or a dense copy.
    View converted(const View &view, int dtype);

    // Lays out the workspace.
    void finish();

private:
    void append(const char *name, const InfiniProgram *program, Lower lower, const Tensors &tensors,
                const Attributes &attributes, const Numbers &scalars);

    const InfiniTarget &target_;
    Planned &planned_;
};

// The type of accumulators: F64 for F64, else F32.
inline int sum_dtype(int dtype) {
    return dtype == INFINI_DTYPE_F64 ? INFINI_DTYPE_F64 : INFINI_DTYPE_F32;
}

}  // namespace infini::op
