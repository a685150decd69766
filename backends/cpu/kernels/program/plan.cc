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
        0;  // bytes that phases keep for later phases; the memory after them is scratch memory
};

std::unique_ptr<Plan> plan_program(const Operation &operation) {
    if (!operation.program()) return nullptr;
    const InfiniProgram &program = *operation.program();
    const ValueType type = value_type(operation, program);
    auto plan = std::make_unique<Phases>();
    std::vector<Spilled> spilled(size_t(program.operand_count));
    for (int phase = 0; phase < program.phase_count; ++phase) {
        LoopNest nest = make_loop_nest(operation, program, phase, type, spilled);
        for (const LoopNest::Spill &spill : nest.spills) {
            Spilled &mine = spilled[size_t(spill.row)];
            mine.start = nest.slots[size_t(spill.slot)].start = plan->shared;
            mine.ndim = nest.ndim;
            for (int i = 0; i < nest.ndim; ++i) mine.size[i] = nest.is_folded[i] ? 1 : nest.size[i];
            plan->shared += aligned(nest.rows * int64_t(nest.value_bytes));
        }
        const bool folds = program.phases[phase].kind != INFINI_AXIS_NONE;
        if (nest.rows == 0 || (!folds && nest.row_size == 0)) continue;  // nothing to do
        plan->runners.push_back(folds ? make_rows(std::move(nest), operation.batch_invariant())
                                      : make_map(std::move(nest)));
    }
    size_t most = 0;
    for (const auto &runner : plan->runners) most = std::max(most, runner->workspace);
    plan->workspace = size_t(plan->shared) + most;
    return plan;
}

INFINI_KERNEL("program", plan_program);

}  // namespace
}  // namespace infini::cpu::program
