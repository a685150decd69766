#include "program/layout.h"

#include <infini/lay_out.h>

namespace infini::cpu::program {

Layout lay_out(const Operation &operation, const InfiniProgram &program, int phase, ValueType type,
               const std::vector<Left> &left) {
    Layout layout = infini::program::lay_out<Step>(operation, program, phase, type, left);
    for (Step &step : layout.steps) {
        const InfiniStage &stage = program.stages[step.stage];
        step.functor = find_functor(stage.functor);
        if (step.functor) step.compute = step.functor->compute[type];
        if (!step.compute)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE,
                          std::string(program.name) + ": no code for these dtypes"};
        if (step.folding && stage.output_count == 1 && stage.outputs[0] < 0 &&
            step.functor->fold == step.folds[0])
            step.fold = step.functor->folded[type];
    }
    return layout;
}

}  // namespace infini::cpu::program
