// Runs programs: each phase by a runner of its kind, one after the other.
#include "program/runner.h"

namespace infini::cpu::program {
namespace {

int64_t aligned(int64_t bytes) { return (bytes + 63) & ~int64_t(63); }

class Phases final : public Plan {
public:
    void run(const Arguments &arguments) const override {
        for (const auto &runner : runners) runner->run(arguments, arguments.workspace() + shared);
    }
    std::vector<std::unique_ptr<Runner>> runners;
    int64_t shared =
        0;  // bytes that phases leave for later ones; behind it all use the same memory
};

// Is a row operand read by a later phase?
bool is_kept(const InfiniProgram &program, int operand, int phase) {
    for (int s = 0; s < program.stage_count; ++s) {
        const InfiniStage &stage = program.stages[s];
        for (int i = 0; i < stage.input_count && stage.phase > phase; ++i)
            if (stage.inputs[i] == operand) return true;
    }
    return false;
}

std::unique_ptr<Plan> plan_program(const Operation &operation) {
    if (!operation.program()) return nullptr;
    const InfiniProgram &program = *operation.program();
    if (program.operand_count > kMostOperands)
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "a program has more than 64 operands"};
    const ValueType type = value_type(operation, program);
    auto plan = std::make_unique<Phases>();
    std::vector<Left> left(size_t(program.operand_count));
    for (int phase = 0; phase < program.phase_count; ++phase) {
        Layout layout = lay_out(operation, program, phase, type, left);
        std::vector<int64_t> keep(left.size(), -1);
        for (int n = 0; n < program.operand_count; ++n) {
            const InfiniOperand &operand = program.operands[n];
            if (operand.kind != INFINI_OPERAND_ROW || operand.phase != phase ||
                !is_kept(program, n, phase))
                continue;
            Left &mine = left[size_t(n)];
            mine.there = true;
            mine.start = keep[size_t(n)] = plan->shared;
            mine.ndim = layout.ndim;
            for (int i = 0; i < layout.ndim; ++i)
                mine.size[i] = layout.is_folded[i] ? 1 : layout.size[i];
            plan->shared += aligned(layout.rows * int64_t(layout.value_bytes));
        }
        const bool folds = program.phases[phase].kind != INFINI_AXIS_NONE;
        if (layout.rows == 0 || (!folds && layout.row_size == 0)) continue;  // nothing to do
        plan->runners.push_back(folds ? make_rows(std::move(layout), keep)
                                      : make_map(std::move(layout)));
    }
    size_t most = 0;
    for (const auto &runner : plan->runners) most = std::max(most, runner->workspace);
    plan->workspace = size_t(plan->shared) + most;
    return plan;
}

INFINI_KERNEL("program", plan_program);

}  // namespace
}  // namespace infini::cpu::program
