#include "fuse.h"

#include <infini/kernels.h>

#include <algorithm>
#include <cstring>

#include "programs.h"

namespace infini::op {

namespace {

bool is_map(const InfiniProgram &program) {
    return program.phase_count == 1 && program.phases[0].kind == INFINI_AXIS_NONE;
}

// A kernel for the operator is faster than its program.
bool has_kernel(const InfiniProgram &program) {
    return std::strcmp(kernel_of(program.name), program.name) != 0;
}

// The row length of a map has no meaning in another phase.
bool asks_for_extent(const InfiniProgram &program) {
    for (int n = 0; n < program.operand_count; ++n)
        if (program.operands[n].kind == INFINI_OPERAND_EXTENT) return true;
    return false;
}

bool reads(const InfiniStage &stage, int operand) {
    return std::find(stage.inputs, stage.inputs + stage.input_count, operand) !=
           stage.inputs + stage.input_count;
}

bool writes(const InfiniStage &stage, int operand) {
    return std::find(stage.outputs, stage.outputs + stage.output_count, operand) !=
           stage.outputs + stage.output_count;
}

}  // namespace

class Fuser {
public:
    Fuser(const InfiniProgram &first, const InfiniProgram &second, const Join &join)
        : first_(first), second_(second), join_(join) {}

    std::unique_ptr<FusedProgram> fuse() {
        // One rule for negative strides holds for all tensors of a program.
        if ((first_.flags ^ second_.flags) & INFINI_PROGRAM_BLAS) return nullptr;
        if (has_kernel(first_) || has_kernel(second_)) return nullptr;
        for (const Link &link : join_.links)
            if (!find_output(link) || !find_inputs(link)) return nullptr;
        const InfiniStage &writing = *ties_[0].writing;
        bool back = is_map(second_);
        for (const Tie &tie : ties_) {
            back = back && tie.writing->phase == first_.phase_count - 1;
            if (tie.writing->kind != writing.kind) return nullptr;
        }
        const bool front = is_map(first_);
        if (!front && !back) return nullptr;
        if (asks_for_extent(front ? first_ : second_)) return nullptr;
        by_row_ = writing.kind == INFINI_STAGE_ROWS;
        if (by_row_ && !only_reads_ties()) return nullptr;

        made_ = std::make_unique<FusedProgram>();
        made_->name_ = std::string(first_.name) + "+" + second_.name;
        shift_ = first_.operand_count;
        phase_ = front ? reading_phase_ : writing.phase;
        add_operands(front);
        if (front)
            put_in_front();
        else
            put_behind();
        finish();
        return std::move(made_);
    }

private:
    // A link by its operands.
    struct Tie {
        const InfiniStage *writing;  // the stage of the first program
        int output;                  // operand of the first program
        std::vector<int> inputs;     // operands of the second program
        int between;                 // operand of the joined one
        bool keep;
    };

    // ---- Links ----------------------------------------------------------------------------------

    bool find_output(const Link &link) {
        Tie tie{nullptr, -1, {}, 0, link.keep};
        for (int s = 0; s < first_.stage_count; ++s) {
            const InfiniStage &stage = first_.stages[s];
            for (int i = 0; i < stage.output_count; ++i) {
                if (stage.outputs[i] < 0) continue;
                const InfiniOperand &operand = first_.operands[stage.outputs[i]];
                if (operand.kind != INFINI_OPERAND_TENSOR || operand.index != link.output) continue;
                tie.writing = &stage;
                tie.output = stage.outputs[i];
            }
        }
        if (!tie.writing) return false;
        // A tensor that is also read (in place) must be present.
        for (int s = 0; s < first_.stage_count; ++s)
            if (reads(first_.stages[s], tie.output)) return false;
        ties_.push_back(std::move(tie));
        return true;
    }

    bool find_inputs(const Link &link) {
        Tie &tie = ties_.back();
        for (int n = 0; n < second_.operand_count; ++n) {
            const InfiniOperand &operand = second_.operands[n];
            if (operand.kind != INFINI_OPERAND_TENSOR ||
                std::find(link.inputs.begin(), link.inputs.end(), operand.index) ==
                    link.inputs.end())
                continue;
            if (operand.view != INFINI_VIEW_PLAIN) return false;
            tie.inputs.push_back(n);
        }
        bool found = false;
        for (int s = 0; s < second_.stage_count; ++s) {
            const InfiniStage &stage = second_.stages[s];
            for (int input : tie.inputs) {
                if (writes(stage, input)) return false;
                if (!reads(stage, input)) continue;
                if (reading_phase_ >= 0 && reading_phase_ != stage.phase) return false;
                reading_phase_ = stage.phase;
                found = true;
            }
        }
        return found;
    }

    // The tie that an operand of the second program belongs to, if any.
    const Tie *tie_of(int input) const {
        for (const Tie &tie : ties_)
            if (std::find(tie.inputs.begin(), tie.inputs.end(), input) != tie.inputs.end())
                return &tie;
        return nullptr;
    }

    // Whether the second program reads no other tensor.
    bool only_reads_ties() const {
        for (int s = 0; s < second_.stage_count; ++s) {
            const InfiniStage &stage = second_.stages[s];
            for (int i = 0; i < stage.input_count; ++i) {
                const int kind = second_.operands[stage.inputs[i]].kind;
                if (!tie_of(stage.inputs[i]) &&
                    (kind == INFINI_OPERAND_TENSOR || kind == INFINI_OPERAND_POSITION))
                    return false;
            }
        }
        return true;
    }

    // ---- Renumbering ----------------------------------------------------------------------------

    void add_operands(bool front) {
        auto &operands = made_->operands_;
        operands.assign(first_.operands, first_.operands + first_.operand_count);
        if (front)
            for (InfiniOperand &operand : operands) operand.phase = int16_t(reading_phase_);
        for (int n = 0; n < second_.operand_count; ++n) {
            InfiniOperand operand = second_.operands[n];
            switch (operand.kind) {
                case INFINI_OPERAND_TENSOR:
                    operand.index = int16_t(operand.index + join_.tensors);
                    operand.pointer = int16_t(operand.pointer + join_.pointers);
                    break;
                case INFINI_OPERAND_ATTRIBUTE:
                    operand.index = int16_t(operand.index + join_.attributes);
                    break;
                case INFINI_OPERAND_SCALAR:
                    operand.index = int16_t(operand.index + join_.scalars);
                    break;
                case INFINI_OPERAND_ELEMENT:
                    if (by_row_) operand.kind = INFINI_OPERAND_ROW;
                    break;
                default:
                    break;
            }
            if (!front) operand.phase = int16_t(phase_);
            operands.push_back(operand);
        }
        for (Tie &tie : ties_) {
            tie.between = int(operands.size());
            InfiniOperand between{};
            between.kind = by_row_ ? INFINI_OPERAND_ROW : INFINI_OPERAND_ELEMENT;
            between.phase = int16_t(phase_);
            operands.push_back(between);
        }
    }

    const int16_t *keep(std::vector<int16_t> numbers) {
        return made_->numbers_.emplace_back(std::move(numbers)).data();
    }

    void add_stage(const InfiniStage &stage, const InfiniExpression *expression) {
        made_->stages_.push_back(stage);
        made_->expressions_.push_back(expression);
    }

    // A stage of the first program: what it writes for the second goes to an operand in between.
    void add_first_stage(int s, int phase) {
        const InfiniStage &stage = first_.stages[s];
        InfiniStage copy = stage;
        copy.phase = int16_t(phase);
        std::vector<int16_t> outputs(stage.outputs, stage.outputs + stage.output_count);
        for (const Tie &tie : ties_)
            std::replace(outputs.begin(), outputs.end(), int16_t(tie.output), int16_t(tie.between));
        copy.outputs = keep(std::move(outputs));
        add_stage(copy, first_.expressions[s]);
    }

    // Writes the operands in between to their tensors, by the functor that copies.
    void add_kept() {
        for (const Tie &tie : ties_) {
            if (!tie.keep) continue;
            InfiniStage copy{};
            copy.kind = tie.writing->kind;
            copy.phase = int16_t(phase_);
            copy.input_count = copy.output_count = 1;
            copy.inputs = keep({int16_t(tie.between)});
            copy.outputs = keep({int16_t(tie.output)});
            copy.functor = kCopyFunctor;
            copy.source = kCopySource;
            add_stage(copy, kCopyExpression);
        }
    }

    void add_second_stage(int s, int phase) {
        const InfiniStage &stage = second_.stages[s];
        InfiniStage copy = stage;
        copy.phase = int16_t(phase);
        if (by_row_) copy.kind = INFINI_STAGE_ROWS;
        auto moved = [&](const int16_t *numbers, int count) {
            std::vector<int16_t> result;
            for (int i = 0; i < count; ++i) {
                const Tie *tie = numbers[i] < 0 ? nullptr : tie_of(numbers[i]);
                result.push_back(int16_t(numbers[i] < 0 ? -1
                                         : tie          ? tie->between
                                                        : numbers[i] + shift_));
            }
            return keep(std::move(result));
        };
        copy.inputs = moved(stage.inputs, stage.input_count);
        copy.outputs = moved(stage.outputs, stage.output_count);
        if (stage.folded) copy.folded = moved(stage.folded, stage.output_count);
        add_stage(copy, second_.expressions[s]);
    }

    // ---- Combining ------------------------------------------------------------------------------

    void put_in_front() {
        made_->phases_.assign(second_.phases, second_.phases + second_.phase_count);
        for (InfiniPhase &phase : made_->phases_)
            if (phase.kind == INFINI_AXIS_ATTRIBUTE) phase.axis += join_.attributes;
        for (int phase = 0; phase < second_.phase_count; ++phase) {
            const bool here = phase == reading_phase_;
            for (int s = 0; s < first_.stage_count && here; ++s) add_first_stage(s, phase);
            for (int s = 0; s < second_.stage_count; ++s)
                if (second_.stages[s].phase == phase) add_second_stage(s, phase);
            if (here) add_kept();
        }
    }

    void put_behind() {
        made_->phases_.assign(first_.phases, first_.phases + first_.phase_count);
        for (int s = 0; s < first_.stage_count; ++s) add_first_stage(s, first_.stages[s].phase);
        for (int s = 0; s < second_.stage_count; ++s) add_second_stage(s, phase_);
        add_kept();
    }

    void finish() {
        InfiniProgram &program = made_->program_;
        program.size = sizeof program;
        program.name = made_->name_.c_str();
        program.operands = made_->operands_.data();
        program.phases = made_->phases_.data();
        program.stages = made_->stages_.data();
        program.expressions = made_->expressions_.data();
        program.operand_count = int32_t(made_->operands_.size());
        program.phase_count = int32_t(made_->phases_.size());
        program.stage_count = int32_t(made_->stages_.size());
        program.flags = first_.flags | second_.flags;  // equal but for WIDE, see fuse()
    }

    const InfiniProgram &first_, &second_;
    const Join &join_;
    std::vector<Tie> ties_;
    int reading_phase_ = -1;  // of the second program
    int phase_ = 0;           // of the joined program, where the second begins
    int shift_ = 0;
    bool by_row_ = false;
    std::unique_ptr<FusedProgram> made_;
};

std::unique_ptr<FusedProgram> fuse(const InfiniProgram &first, const InfiniProgram &second,
                                   const Join &join) {
    return Fuser(first, second, join).fuse();
}

namespace {

// From one of the tensors to tensor 0.
struct Copy {
    Copy(int16_t from, uint32_t flags)
        : operands{{INFINI_OPERAND_TENSOR, from, from, 0, 0, 0, 0},
                   {INFINI_OPERAND_TENSOR, 0, 0, 0, 0, 0, 0}} {
        stage.kind = INFINI_STAGE_ELEMENTS;
        stage.input_count = stage.output_count = 1;
        stage.inputs = &numbers[0];
        stage.outputs = &numbers[1];
        stage.functor = kCopyFunctor;
        stage.source = kCopySource;
        program = {sizeof program, "copy",          operands, &phase, &stage, 2, 1, 1,
                   flags,          &kCopyExpression};
    }
    const InfiniOperand operands[2];
    const InfiniPhase phase = {INFINI_AXIS_NONE, 0};
    const int16_t numbers[2] = {0, 1};
    InfiniStage stage{};
    InfiniProgram program;
};

}  // namespace

const InfiniProgram &kernel_result() {
    static const Copy copy(0, INFINI_PROGRAM_EPILOGUE);
    return copy.program;
}

const InfiniProgram &copy_program() {
    static const Copy copy(1, 0);
    return copy.program;
}

}  // namespace infini::op
