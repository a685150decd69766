// A feed-forward block: norm, gate and up, activation, down, residual. Intermediate tensors have
// the dtype of the activations.
#include <algorithm>

#include "lowering.h"
#include "programs.h"

namespace infini::op {
namespace {

constexpr int64_t kMostTemporaries = int64_t(256) << 20;  // bytes
constexpr int64_t kFewestRows = 512;                      // of a block
constexpr int64_t kMostBlocks = 1024;

// `add` as the epilogue of a product: the sum and the addend follow c, a and b of gemm.
const InfiniProgram &adding_epilogue() {
    struct Epilogue {
        std::vector<InfiniOperand> operands;
        InfiniProgram program;

        Epilogue() {
            const InfiniTensor some{INFINI_DTYPE_F32, 0, nullptr, nullptr};
            const InfiniTensor tensors[] = {some, some, some};
            program = *find_program({info_of(Op::Add).name, tensors, nullptr, 3, 0, nullptr, 0});
            operands.assign(program.operands, program.operands + program.operand_count);
            for (InfiniOperand &operand : operands) {
                constexpr int16_t kNumbers[] = {3, 0, 4};  // of the sum and of what is added
                operand.index = operand.pointer = kNumbers[operand.index];
            }
            program.operands = operands.data();
            program.flags |= INFINI_PROGRAM_EPILOGUE;
        }
    };
    static const Epilogue epilogue;
    return epilogue.program;
}

// A weight [out, in], or [in, out] where that does not fit, as the matrix [in, out] of a product.
View weight_matrix(const View &weight, int64_t out, int64_t in, const char *sentence) {
    if (weight.size[0] == out && weight.size[1] == in) return weight.transposed(0, 1);
    if (weight.size[0] == in && weight.size[1] == out) return weight;
    fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s", sentence);
}

}  // namespace

void lower_FusedFFN(Lowering &lowering) {
    const View out = lowering.argument(0), in = lowering.argument(1);
    const View residual = lowering.argument(2), norm = lowering.argument(3);
    const View gate_up = lowering.argument(4), down = lowering.argument(5);
    const int dtype = out.dtype;
    for (int other : {norm.dtype, gate_up.dtype, down.dtype})
        if (other != dtype && other != INFINI_DTYPE_F32)
            fail(INFINI_STATUS_BAD_TENSOR_DTYPE,
                 "weights must have the dtype of the activations, or F32");
    const int64_t rows = out.size[0], hidden = out.size[1];
    constexpr int64_t kMostFeatures = int64_t(1) << 42;
    if (std::max({hidden, gate_up.size[0], gate_up.size[1]}) > kMostFeatures)
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "more features than can be counted");
    const int64_t wide = gate_up.size[1] == hidden ? gate_up.size[0] : gate_up.size[1];
    const char *why = "gate_up_weight must be [2 I, D] or [D, 2 I]";
    if (wide % 2) fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s", why);
    const int64_t inner = wide / 2;
    const View first = weight_matrix(gate_up, wide, hidden, why);
    const View second = weight_matrix(down, hidden, inner, "down_weight must be [D, I] or [I, D]");
    if (out.numel() == 0) return;

    const int64_t row_bytes = (hidden + wide + inner) * int64_t(infiniSizeOf(infiniDtype_t(dtype)));
    const int64_t together =
        std::min(rows, std::max({kFewestRows, kMostTemporaries / row_bytes, rows / kMostBlocks}));
    const View normed = lowering.temporary(dtype, {together, hidden});
    const View widened = lowering.temporary(dtype, {together, wide});
    const View gated = lowering.temporary(dtype, {together, inner});
    for (int64_t row = 0; row < rows; row += together) {
        const int64_t count = std::min(together, rows - row);
        auto some = [&](const View &view) { return view.sliced(0, 0, count); };
        auto these = [&](const View &view) { return view.sliced(0, row, count); };
        lowering.step(Op::RMSNorm, {some(normed), these(in), norm}, {lowering.operation.number(0)});
        lowering.step(Op::Gemm, {some(widened), some(normed), first}, {}, {1, 0});
        lowering.step(Op::SiluAndMul, {some(gated), some(widened)});
        const View to = these(out);
        if (!residual) {
            lowering.step(Op::Gemm, {to, some(gated), second}, {}, {1, 0});
            continue;
        }
        const View addend = these(residual), product = to.without_memory();
        if (lowering.step_with(Op::Gemm, adding_epilogue(),
                               {product, some(gated), second, to, addend}, {1, 0}))
            continue;
        lowering.step(Op::Rearrange, {to, addend});
        lowering.step(Op::Gemm, {to, some(gated), second}, {}, {1, 1});
    }
}

}  // namespace infini::op
