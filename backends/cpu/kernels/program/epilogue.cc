#include "epilogue.h"

#include "program/runner.h"

namespace infini::cpu::program {
namespace {

class ProgramEpilogue final : public EpiloguePlan {
public:
    static std::unique_ptr<Plan> make(const Operation &operation);
    void launch(const Arguments &arguments, void (*body)(const void *context, const Launch &launch),
                const void *context) const override;

private:
    struct Run final : Launch {
        Run(const ProgramEpilogue &epilogue, const Arguments &arguments);
        void operator()(const float *values, int64_t member, int64_t row, int64_t column,
                        int64_t n) const override {
            epilogue.compute(*this, values, member, row, column, n);
        }
        const ProgramEpilogue &epilogue;
        SharedValues shared;
        char *bases[kMostOperands];
    };
    void compute(const Run &run, const float *values, int64_t member, int64_t row, int64_t column,
                 int64_t n) const;

    enum class Access : uint8_t { kUnused, kResult, kDirect, kSplat, kBuffer };
    struct Operand {
        Access access = Access::kUnused;
        bool reads = false, writes = false;
        int buffer = -1;
        int64_t strides[3] = {0, 0, 0};
    };

    LoopNest nest_;
    std::vector<Operand> operands_;  // by slot
    int64_t rows_ = 1;               // per member
    int buffers_ = 0;
};

std::unique_ptr<Plan> ProgramEpilogue::make(const Operation &operation) {
    const InfiniProgram &program = *operation.program();
    const Tensor result = operation.tensor(0);
    if (program.phase_count != 1 || program.phases[0].kind != INFINI_AXIS_NONE) return nullptr;
    if (value_type(operation, program) != kFloat) return nullptr;
    auto made = std::make_unique<ProgramEpilogue>();
    made->nest_ = make_loop_nest(operation, program, 0, kFloat, {});
    const LoopNest &nest = made->nest_;
    if (nest.ndim != result.ndim) return nullptr;
    for (int i = 0; i < result.ndim; ++i)
        if (nest.size[i] != result.shape[i]) return nullptr;
    made->rows_ = std::max<int64_t>(1, result.size(-2));

    made->operands_.resize(nest.slots.size());
    auto add = [&](int number, bool written) {
        const Slot &slot = nest.slots[size_t(number)];
        const InfiniOperand &source = program.operands[number];
        Operand &operand = made->operands_[size_t(number)];
        (written ? operand.writes : operand.reads) = true;
        if (slot.kind == Slot::kShared) return true;
        if (slot.kind == Slot::kElement) {
            operand.access = Access::kBuffer;
            if (operand.buffer < 0) operand.buffer = made->buffers_++;
            return true;
        }
        if (slot.kind != Slot::kTensor || source.view != INFINI_VIEW_PLAIN) return false;
        if (operand.reads && operand.writes) return false;
        if (!written && source.index == 0) {
            operand.access = Access::kResult;
            return true;
        }
        const Tensor tensor = operation.tensor(source.index);
        for (int i = 0; i < tensor.ndim; ++i)
            if (tensor.shape[i] != 1) operand.strides[3 - tensor.ndim + i] = tensor.strides[i];
        const int64_t stride = operand.strides[2];
        const bool direct = slot.dtype == INFINI_DTYPE_F32 && (stride == 1 || result.size(-1) == 1);
        operand.access = direct                    ? Access::kDirect
                         : stride == 0 && !written ? Access::kSplat
                                                   : Access::kBuffer;
        if (operand.access == Access::kBuffer && operand.buffer < 0)
            operand.buffer = made->buffers_++;
        return true;
    };
    for (const Stage &stage : nest.stages) {
        for (int number : stage.inputs)
            if (!add(number, false)) return nullptr;
        for (int number : stage.outputs)
            if (!add(number, true)) return nullptr;
    }
    if (made->buffers_ > kMostInputs) return nullptr;
    return made;
}

ProgramEpilogue::Run::Run(const ProgramEpilogue &epilogue, const Arguments &arguments)
    : epilogue(epilogue), shared(epilogue.nest_, arguments) {
    for (size_t n = 0; n < epilogue.operands_.size(); ++n) {
        const Operand &operand = epilogue.operands_[n];
        const Slot &slot = epilogue.nest_.slots[n];
        const bool in_memory = slot.kind == Slot::kTensor && operand.access != Access::kUnused &&
                               operand.access != Access::kResult;
        bases[n] = in_memory ? slot.base(arguments) : nullptr;
    }
}

void ProgramEpilogue::compute(const Run &run, const float *values, int64_t member, int64_t row,
                              int64_t column, int64_t n) const {
    alignas(64) float buffers[kMostInputs][kMost];
    alignas(64) float splats[kMostOperands][kSplatBytes / sizeof(float)];
    const void *in[kMostOperands];
    void *out[kMostOperands];
    ptrdiff_t step_of[kMostOperands];
    if (row >= rows_) member += row / rows_, row %= rows_;
    auto place = [&](size_t k) {
        const int64_t *strides = operands_[k].strides;
        return run.bases[k] + (member * strides[0] + row * strides[1] + column * strides[2]) *
                                  nest_.slots[k].bytes;
    };
    for (size_t k = 0; k < operands_.size(); ++k) {
        const Operand &operand = operands_[k];
        const Slot &slot = nest_.slots[k];
        step_of[k] = 1;
        if (slot.kind == Slot::kShared) {
            in[k] = run.shared.at(slot.number), step_of[k] = 0;
            continue;
        }
        switch (operand.access) {
            case Access::kUnused:
                break;
            case Access::kResult:
                in[k] = values;
                break;
            case Access::kDirect:
                in[k] = out[k] = place(k);
                break;
            case Access::kSplat: {
                float one;
                gather(kFloat, &one, slot, place(k), 1, 0);
                repeat(reinterpret_cast<char *>(splats[k]), one);
                in[k] = splats[k], step_of[k] = 0;
                break;
            }
            case Access::kBuffer:
                in[k] = out[k] = buffers[operand.buffer];
                if (slot.kind == Slot::kTensor && operand.reads)
                    gather(kFloat, buffers[operand.buffer], slot, place(k), n, operand.strides[2]);
                break;
        }
    }
    for (const Stage &stage : nest_.stages) {
        const void *inputs[kMostInputs];
        ptrdiff_t steps[kMostInputs];
        void *outputs[kMostOutputs];
        for (size_t i = 0; i < stage.inputs.size(); ++i)
            inputs[i] = in[stage.inputs[i]], steps[i] = step_of[stage.inputs[i]];
        for (size_t i = 0; i < stage.outputs.size(); ++i) outputs[i] = out[stage.outputs[i]];
        stage.compute(inputs, steps, outputs, size_t(n));
    }
    for (size_t k = 0; k < operands_.size(); ++k)
        if (operands_[k].writes && operands_[k].access == Access::kBuffer &&
            nest_.slots[k].kind == Slot::kTensor)
            scatter(kFloat, nest_.slots[k], place(k), buffers[operands_[k].buffer], n,
                    operands_[k].strides[2]);
}

void ProgramEpilogue::launch(const Arguments &arguments,
                             void (*body)(const void *context, const Launch &launch),
                             const void *context) const {
    body(context, Run(*this, arguments));
}

INFINI_KERNEL("epilogue", ProgramEpilogue::make);

}  // namespace
}  // namespace infini::cpu::program
