// Plans programs: the launches of each phase, one after the other.
#include <infini/expression.h>
#include <infini/make_loop_nest.h>

#include "kernels/program/engines.h"

namespace infini::cuda::program {

int roughness(const Operation &operation, const InfiniProgram &program, ValueType type) {
    if (type != kFloat) return 0;
    bool wide_range = false;  // whether there are values near 0 with infinite reciprocals
    for (int i = 0; i < operation.tensor_count(); ++i) {
        const int dtype = operation.tensor(i).dtype;
        if (dtype && !is_float(dtype) && dtype_bytes(dtype) > 2) return 0;
        if (dtype == INFINI_DTYPE_F32) return 0;
        wide_range = wide_range || dtype == INFINI_DTYPE_BF16;
    }
    for (int s = 0; s < program.stage_count; ++s) {
        const InfiniExpression &expression = expression_of(program, s);
        // A quotient just below a whole number must not be truncated to the one before.
        for (InfiniNodeOp whole : {INFINI_NODE_TRUNC, INFINI_NODE_FLOOR, INFINI_NODE_CEIL})
            if (calls(expression, whole)) return 0;
        // With exponentials, divisors are their sums.
        if (calls(expression, INFINI_NODE_EXP)) wide_range = false;
    }
    return wide_range ? 1 : 2;
}

namespace {

int64_t aligned(int64_t bytes) { return (bytes + 255) & ~int64_t(255); }

class Phases final : public Plan {
public:
    Error run(const Arguments &arguments, const Stream &stream) const override {
        for (const Launches &launches : phases)
            if (Error error = launches.run(arguments, stream)) return error;
        return infinirtSuccess;
    }
    std::vector<Launches> phases;
};

std::unique_ptr<Plan> plan_program(const Operation &operation, Device &device) {
    if (!operation.program()) return nullptr;
    const InfiniProgram &program = *operation.program();
    const ValueType type = value_type(operation, program);
    auto plan = std::make_unique<Phases>();
    std::vector<Spilled> spilled(size_t(program.operand_count));
    int64_t workspace = 0;  // left by phases for later ones
    int64_t most = 0;       // used by phases internally
    for (int phase = 0; phase < program.phase_count; ++phase) {
        LoopNest nest = make_loop_nest<Stage>(operation, program, phase, type, spilled);
        for (const LoopNest::Spill &spill : nest.spills) {
            Spilled &mine = spilled[size_t(spill.row)];
            mine.start = nest.slots[size_t(spill.slot)].start = workspace;
            mine.ndim = nest.ndim;
            for (int i = 0; i < nest.ndim; ++i) mine.size[i] = nest.is_folded[i] ? 1 : nest.size[i];
            workspace += aligned(nest.rows * int64_t(nest.value_bytes));
        }
        const bool folds = program.phases[phase].kind != INFINI_AXIS_NONE;
        if (nest.rows == 0 || (!folds && nest.row_size == 0)) continue;  // nothing to do
        Phase planned{nest,   program,
                      device, roughness(operation, program, type),
                      0,      operation.batch_invariant()};
        plan->phases.push_back(folds ? plan_rows(planned) : plan_map(planned));
        most = std::max(most, planned.workspace);
    }
    plan->workspace = size_t(workspace + most);
    for (Launches &launches : plan->phases) {
        launches.move_partials(workspace);
        launches.prepare(device);
    }
    return plan;
}

INFINI_CUDA_KERNEL("program", plan_program);

}  // namespace
}  // namespace infini::cuda::program
