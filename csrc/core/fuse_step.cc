#include "fuse_step.h"

#include <algorithm>
#include <cstring>
#include <deque>

namespace infinicore::detail {

// ---- Looking at programs ------------------------------------------------------------------------

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

bool is_map(const InfiniProgram &program) {
    return program.phase_count == 1 && program.phases[0].kind == INFINI_AXIS_NONE;
}

bool is_copy(const InfiniStage &stage) {
    return stage.input_count == 1 && stage.output_count == 1 && !stage.folds &&
           std::strstr(stage.source, "{\n        y[0] = x[0];") != nullptr;
}

namespace {

// Calls f with each operand that a stage reads, then with each that it writes.
template <class Read, class Write>
void visit(const InfiniStage &stage, Read &&read, Write &&write) {
    for (int i = 0; i < stage.input_count; ++i) read(stage.inputs[i]);
    for (int i = 0; i < stage.output_count; ++i)
        if (stage.outputs[i] >= 0) write(stage.outputs[i]);
}

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
            // "y[0] = t3;", and before that "const V t3 = number<V>(m2);".
            const std::string begin = "y[" + std::to_string(i) + "] = t";
            const char *result = std::strstr(stage.source, begin.c_str());
            if (!result) return false;
            result += begin.size() - 1;
            const std::string made =
                "const V " + std::string(result, std::strcspn(result, ";")) + " = number<V>(";
            if (!std::strstr(stage.source, made.c_str())) return false;
            found = true;
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

// ---- Making steps -------------------------------------------------------------------------------

namespace {

// A program with all that belongs to it.
struct OwnProgram {
    std::string name;
    std::vector<InfiniOperand> operands;
    std::vector<InfiniPhase> phases;
    std::vector<InfiniStage> stages;
    std::deque<std::vector<int16_t>> numbers;  // that stages point to
    InfiniProgram program{};
    std::vector<std::shared_ptr<const Step>> parts;  // attributes point into them
};

// Numbers everything anew, without what is not used, and with one number for what is the same.
class Compactor {
public:
    explicit Compactor(const Draft &draft)
        : draft_(draft), source_(*draft.program), made_(std::make_shared<OwnProgram>()) {
        number_.assign(size_t(source_.operand_count), -1);
        instead_.resize(size_t(source_.operand_count));
        for (size_t n = 0; n < instead_.size(); ++n) instead_[n] = int(n);
        find_written();
    }

    std::optional<Node> make() {
        for (int i = 0; i < draft_.kernel_tensors; ++i) {
            tensors.push_back(draft_.tensors[size_t(i)]);
            // The product itself goes nowhere, unless the program writes it.
            arguments.push_back({i, false, i > 0});
            places.push_back(i ? draft_.places[size_t(i)] : Place{});
        }
        scalars.assign(draft_.scalars.begin(), draft_.scalars.begin() + draft_.kernel_scalars);
        scalar_numbers_.assign(draft_.scalars.size(), -1);
        attribute_numbers_.assign(draft_.attributes.size(), -1);
        for (int s = 0; s < source_.stage_count; ++s) add_stage(source_.stages[s]);
        for (int p = 0; p < source_.phase_count; ++p) {
            InfiniPhase phase = source_.phases[p];
            if (phase.kind == INFINI_AXIS_ATTRIBUTE) phase.axis = attribute(phase.axis);
            made_->phases.push_back(phase);
        }
        if (tensors.size() > 512 || made_->operands.size() > 4096) return std::nullopt;
        finish();
        const std::vector<uint8_t> present(tensors.size(), 1);
        if (computing_of(tensors, present, source_.flags) != draft_.computing) return std::nullopt;
        for (int p = 0; p < source_.phase_count; ++p)
            if (space_of(made_->program, tensors, p) != draft_.spaces[size_t(p)])
                return std::nullopt;
        Node node;
        node.step = plan_program(*draft_.runtime, draft_.name, tensors, present, attributes,
                                 scalars, arguments, &made_->program, made_, draft_.kernel);
        if (!node.step) return std::nullopt;
        node.places = std::move(places);
        return node;
    }

private:
    const Place &place_of(const InfiniOperand &operand) const {
        return draft_.places[size_t(operand.pointer)];
    }
    Range range(const InfiniOperand &operand) const {
        return range_of(place_of(operand), &draft_.tensors[size_t(operand.index)]);
    }
    // What the kernel before the program made: it is read from no memory.
    bool is_product(const InfiniOperand &operand) const {
        return draft_.kernel_tensors && operand.kind == INFINI_OPERAND_TENSOR && operand.index == 0;
    }

    void find_written() {
        for (int s = 0; s < source_.stage_count; ++s)
            visit(
                source_.stages[s], [](int) {},
                [&](int n) {
                    if (source_.operands[n].kind == INFINI_OPERAND_TENSOR)
                        written_.push_back(range(source_.operands[n]));
                });
    }

    // Stays an operand what it was until the end of the program?
    bool is_constant(int n) const {
        const InfiniOperand &operand = source_.operands[n];
        if (operand.kind != INFINI_OPERAND_TENSOR || is_product(operand)) return true;
        return std::none_of(written_.begin(), written_.end(), [&](const Range &other) {
            return other.overlaps(range(operand)) || other.may_be(range(operand));
        });
    }

    void add_stage(const InfiniStage &stage) {
        if (is_copy(stage) && stage.kind == INFINI_STAGE_ELEMENTS &&
            source_.operands[stage.outputs[0]].kind == INFINI_OPERAND_ELEMENT) {
            const int from = instead_[size_t(stage.inputs[0])];
            if (is_constant(from)) {
                instead_[size_t(stage.outputs[0])] = from;
                return;
            }
        }
        InfiniStage copy = stage;
        auto renumber = [&](const int16_t *numbers, int count, bool written) {
            std::vector<int16_t> result;
            for (int i = 0; i < count; ++i)
                result.push_back(int16_t(numbers[i] < 0 ? -1 : operand(numbers[i], written)));
            return made_->numbers.emplace_back(std::move(result)).data();
        };
        copy.inputs = renumber(stage.inputs, stage.input_count, false);
        copy.outputs = renumber(stage.outputs, stage.output_count, true);
        if (stage.folded) copy.folded = renumber(stage.folded, stage.output_count, true);
        if (stage.folds)
            copy.folds =
                made_->numbers.emplace_back(stage.folds, stage.folds + stage.output_count).data();
        made_->stages.push_back(copy);
    }

    int operand(int n, bool written) {
        if (!written) n = instead_[size_t(n)];
        int &number = number_[size_t(n)];
        InfiniOperand operand = source_.operands[n];
        if (operand.kind == INFINI_OPERAND_TENSOR) {
            operand.index = operand.pointer = int16_t(tensor(operand, written));
        } else if (number >= 0) {
            return number;
        } else if (operand.kind == INFINI_OPERAND_ATTRIBUTE) {
            operand.index = int16_t(attribute(operand.index));
        } else if (operand.kind == INFINI_OPERAND_SCALAR) {
            operand.index = int16_t(scalar(operand.index));
        }
        if (number >= 0) {
            if (written) only_read_[size_t(number)] = false;
            return number;
        }
        // What is read twice is loaded once.
        if (operand.kind == INFINI_OPERAND_TENSOR && !written)
            for (size_t k = 0; k < made_->operands.size(); ++k) {
                const InfiniOperand &other = made_->operands[k];
                if (only_read_[k] && other.kind == operand.kind && other.index == operand.index &&
                    other.view == operand.view && other.axis == operand.axis)
                    return number = int(k);
            }
        only_read_.push_back(!written);
        made_->operands.push_back(operand);
        return number = int(made_->operands.size()) - 1;
    }

    int tensor(const InfiniOperand &operand, bool written) {
        const Layout &layout = draft_.tensors[size_t(operand.index)];
        const Place &place = place_of(operand);
        auto use = [&](size_t k) {
            arguments[k].written |= written;
            arguments[k].read |= !written;
            return int(k);
        };
        if (is_product(operand)) {
            if (written) arguments[0].written = true, places[0] = place;
            return 0;
        }
        for (size_t k = draft_.kernel_tensors ? 1 : 0; k < tensors.size(); ++k)
            if (places[k].memory == place.memory && places[k].offset == place.offset &&
                tensors[k] == layout)
                return use(k);
        tensors.push_back(layout);
        places.push_back(place);
        arguments.push_back({int(tensors.size()) - 1, false, false});
        return use(tensors.size() - 1);
    }

    int attribute(int n) {
        int &number = attribute_numbers_[size_t(n)];
        if (number < 0) {
            number = int(attributes.size());
            attributes.push_back(draft_.attributes[size_t(n)]);
        }
        return number;
    }

    int scalar(int n) {
        int &number = scalar_numbers_[size_t(n)];
        if (number < 0) {
            number = int(scalars.size());
            scalars.push_back(draft_.scalars[size_t(n)]);
        }
        return number;
    }

    void finish() {
        made_->name = draft_.name;
        made_->parts = draft_.parts;
        InfiniProgram &program = made_->program;
        program.size = sizeof program;
        program.name = made_->name.c_str();
        program.operands = made_->operands.data();
        program.phases = made_->phases.data();
        program.stages = made_->stages.data();
        program.operand_count = int32_t(made_->operands.size());
        program.phase_count = int32_t(made_->phases.size());
        program.stage_count = int32_t(made_->stages.size());
        program.flags = source_.flags;
    }

    const Draft &draft_;
    const InfiniProgram &source_;
    std::shared_ptr<OwnProgram> made_;
    std::vector<Range> written_;
    std::vector<int> number_,
        instead_;  // by operand: its new number, and what is read in its place
    std::vector<int> attribute_numbers_, scalar_numbers_;
    std::vector<char> only_read_;  // by new operand

    std::vector<Layout> tensors;
    std::vector<Step::Argument> arguments;
    std::vector<Place> places;
    std::vector<InfiniAttribute> attributes;
    std::vector<InfiniScalar> scalars;
};

}  // namespace

std::optional<Node> make_node(const Draft &draft) { return Compactor(draft).make(); }

}  // namespace infinicore::detail
