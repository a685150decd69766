#include "program/loop_nest.h"

#include <infini/make_loop_nest.h>

#include "program/native_fold.h"

namespace infini::cpu::program {

LoopNest make_loop_nest(const Operation &operation, const InfiniProgram &program, int phase,
                        ValueType type, const std::vector<Spilled> &spilled) {
    LoopNest nest =
        infini::program::make_loop_nest<Stage>(operation, program, phase, type, spilled);
    for (Stage &stage : nest.stages) {
        const InfiniStage &declared = program.stages[stage.number];
        stage.functor = find_functor(declared.functor);
        if (stage.functor) stage.compute = stage.functor->compute[type];
        if (!stage.compute)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE,
                          std::string(program.name) + ": no code for these dtypes"};
        if (stage.folding && declared.output_count == 1 && declared.outputs[0] < 0 &&
            stage.functor->fold == stage.folds[0])
            stage.fold = stage.functor->folded[type];
        if (stage.folding && nest.slots[size_t(stage.inputs[0])].kind == Slot::kTensor)
            stage.native = native_fold(stage, expression_of(program, stage.number), type,
                                       nest.slots[size_t(stage.inputs[0])].dtype);
    }
    return nest;
}

}  // namespace infini::cpu::program
