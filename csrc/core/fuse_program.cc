#include "fuse_program.h"

#include <infini/expression.h>

namespace infinicore::detail {

Computing computing_of(const std::vector<Layout> &tensors, const std::vector<uint8_t> &present,
                       uint32_t flags) {
    bool floats = false, wide = false, unsigned_ = false;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!present[i]) continue;
        switch (tensors[i].dtype) {
            case DataType::F64:
                wide = true;
                break;
            case DataType::F8:
            case DataType::F16:
            case DataType::BF16:
            case DataType::F32:
                floats = true;
                break;
            case DataType::U64:
                unsigned_ = true;
                break;
            case DataType::BYTE:
            case DataType::C16:
            case DataType::C32:
            case DataType::C64:
            case DataType::C128:
                return Computing::Unknown;
            default:
                break;
        }
    }
    if (wide || (floats && flags & INFINI_PROGRAM_WIDE)) return Computing::Double;
    if (floats) return Computing::Float;
    return unsigned_ ? Computing::Uint : Computing::Int;
}

bool is_plain_copy(const Step &step) {
    return !step.program && step.is(kCopies) && step.arguments.size() == 2;
}

const InfiniProgram *program_of(const Step &step) {
    return is_plain_copy(step) ? infiniCopy() : step.program;
}

bool is_map(const InfiniProgram &program) {
    return program.phase_count == 1 && program.phases[0].kind == INFINI_AXIS_NONE;
}

bool is_copy(const InfiniProgram &program, int stage) {
    return !program.stages[stage].folds &&
           infini::program::is_copy(infini::program::expression_of(program, stage));
}

namespace {

bool is_tensor(const InfiniOperand &operand, int tensor) {
    return operand.kind == INFINI_OPERAND_TENSOR && operand.index == tensor;
}

}  // namespace

bool gives_truth(const InfiniProgram &program, int tensor) {
    bool found = false;
    for (int s = 0; s < program.stage_count; ++s) {
        const InfiniStage &stage = program.stages[s];
        for (int i = 0; i < stage.output_count; ++i) {
            if (stage.outputs[i] < 0 || !is_tensor(program.operands[stage.outputs[i]], tensor))
                continue;
            found = infini::program::is_truth(infini::program::expression_of(program, s), i);
            if (!found) return false;
        }
    }
    return found;
}

bool is_uniform(const InfiniProgram &program) {
    if (!is_map(program) || program.stage_count != 1) return false;
    const InfiniStage &stage = program.stages[0];
    for (int i = 0; i < stage.input_count; ++i) {
        const int kind = program.operands[stage.inputs[i]].kind;
        if (kind != INFINI_OPERAND_ATTRIBUTE && kind != INFINI_OPERAND_SCALAR) return false;
    }
    return true;
}

bool can_reindex(const InfiniProgram &program) {
    if (!is_map(program)) return false;
    for (int n = 0; n < program.operand_count; ++n) {
        const InfiniOperand &operand = program.operands[n];
        if (operand.kind == INFINI_OPERAND_POSITION || operand.view != INFINI_VIEW_PLAIN)
            return false;
    }
    return true;
}

int reading_phase(const InfiniProgram &program, const std::vector<int> &tensors) {
    int phase = -1;
    for (int s = program.stage_count - 1; s >= 0; --s)
        visit(
            program.stages[s],
            [&](int n) {
                for (int tensor : tensors)
                    if (is_tensor(program.operands[n], tensor)) phase = program.stages[s].phase;
            },
            [](int) {});
    return phase;
}

bool reads_pointer(const InfiniProgram &program, int pointer) {
    bool found = false;
    for (int s = 0; s < program.stage_count; ++s)
        visit(
            program.stages[s],
            [&](int n) {
                const InfiniOperand &operand = program.operands[n];
                found |= operand.kind == INFINI_OPERAND_TENSOR && operand.pointer == pointer;
            },
            [](int) {});
    return found;
}

Sizes space_of(const InfiniProgram &program, const std::vector<Layout> &tensors, int phase) {
    std::vector<Sizes> shapes;
    auto add = [&](int n) {
        const InfiniOperand &operand = program.operands[n];
        if (operand.kind != INFINI_OPERAND_TENSOR) return;
        Sizes shape = tensors[size_t(operand.index)].shape;
        switch (operand.view) {
            case INFINI_VIEW_EXPAND:
                shape.insert(shape.end() + operand.axis + 1, 1);
                break;
            case INFINI_VIEW_FIRST:
            case INFINI_VIEW_SECOND:
                shape.back() /= 2;
                break;
            case INFINI_VIEW_ITEM:
                shape.back() = 1;
                break;
            default:
                break;
        }
        shapes.push_back(std::move(shape));
    };
    for (int s = 0; s < program.stage_count; ++s)
        if (program.stages[s].phase == phase && program.stages[s].kind == INFINI_STAGE_ELEMENTS)
            visit(program.stages[s], add, add);
    return broadcast_of(shapes);
}

}  // namespace infinicore::detail
