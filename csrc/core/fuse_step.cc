#include "fuse_step.h"

#include <algorithm>
#include <deque>

namespace infinicore::detail {

namespace {

// A program with everything it points to.
struct OwnProgram {
    std::string name;
    std::vector<InfiniOperand> operands;
    std::vector<InfiniPhase> phases;
    std::vector<InfiniStage> stages;
    std::vector<const InfiniExpression *> expressions;  // of the stages
    std::deque<std::vector<int16_t>> numbers;           // that stages point to
    InfiniProgram program{};
    std::vector<std::shared_ptr<const Step>> parts;  // attributes point into them
};

// Renumbers everything, without what is unused, and with one number for equal operands.
class Compactor {
public:
    explicit Compactor(const Draft &draft)
        : draft_(draft), source_(*draft.program), made_(std::make_shared<OwnProgram>()) {
        number_.assign(size_t(source_.operand_count), -1);
        instead_.resize(size_t(source_.operand_count));
        for (size_t n = 0; n < instead_.size(); ++n) instead_[n] = int(n);
        find_written();
        find_forwarded();
    }

    std::optional<Node> make() {
        for (int i = 0; i < draft_.kernel_tensors; ++i) {
            tensors.push_back(draft_.tensors[size_t(i)]);
            rounded.push_back(draft_.rounded[size_t(i)]);
            // The product itself is not stored, unless the program writes it.
            arguments.push_back({i, false, i > 0});
            locations.push_back(i ? draft_.locations[size_t(i)] : Location{});
        }
        scalars.assign(draft_.scalars.begin(), draft_.scalars.begin() + draft_.kernel_scalars);
        scalar_numbers_.assign(draft_.scalars.size(), -1);
        attribute_numbers_.assign(draft_.attributes.size(), -1);
        for (int s = 0; s < source_.stage_count; ++s) add_stage(s);
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
        std::const_pointer_cast<Step>(node.step)->rounded = std::move(rounded);
        node.locations = std::move(locations);
        return node;
    }

private:
    const Location &place_of(const InfiniOperand &operand) const {
        return draft_.locations[size_t(operand.pointer)];
    }
    Range range(const InfiniOperand &operand) const {
        return range_of(place_of(operand), &draft_.tensors[size_t(operand.index)]);
    }
    // The result of the kernel before the program: it is not read from memory.
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

    // Whether an operand keeps its value until the end of the program.
    bool is_constant(int n) const {
        const InfiniOperand &operand = source_.operands[n];
        if (operand.kind != INFINI_OPERAND_TENSOR || is_product(operand)) return true;
        return std::none_of(written_.begin(), written_.end(), [&](const Range &other) {
            return other.overlaps(range(operand)) || other.may_be(range(operand));
        });
    }

    // Copies of a temporary without other readers: its producer writes to the tensor directly. That
    // happens earlier, so the tensor must not be read as well.
    void find_forwarded() {
        std::vector<int> readers(instead_.size(), 0);
        for (int s = 0; s < source_.stage_count; ++s)
            visit(source_.stages[s], [&](int n) { ++readers[size_t(n)]; }, [](int) {});
        forwarded_.assign(instead_.size(), -1);
        for (int s = 0; s < source_.stage_count; ++s) {
            const InfiniStage &stage = source_.stages[s];
            if (!is_copy(source_, s) || stage.kind != INFINI_STAGE_ELEMENTS) continue;
            const int from = stage.inputs[0], to = stage.outputs[0];
            const InfiniOperand &operand = source_.operands[to];
            if (operand.kind != INFINI_OPERAND_TENSOR || is_product(operand) ||
                source_.operands[from].kind != INFINI_OPERAND_ELEMENT || readers[size_t(from)] != 1)
                continue;
            if (!is_read(range(operand)) && !is_made_by_a_copy(from)) forwarded_[size_t(from)] = to;
        }
    }

    bool is_read(const Range &range) const {
        bool found = false;
        for (int s = 0; s < source_.stage_count; ++s)
            visit(
                source_.stages[s],
                [&](int n) {
                    const InfiniOperand &operand = source_.operands[n];
                    if (operand.kind != INFINI_OPERAND_TENSOR || is_product(operand)) return;
                    found |=
                        range.overlaps(this->range(operand)) || range.may_be(this->range(operand));
                },
                [](int) {});
        return found;
    }

    bool is_made_by_a_copy(int n) const {
        for (int s = 0; s < source_.stage_count; ++s)
            if (source_.stages[s].outputs[0] == n && is_copy(source_, s)) return true;
        return false;
    }

    void add_stage(int s) {
        const InfiniStage &stage = source_.stages[s];
        const bool copies = is_copy(source_, s);
        if (copies && forwarded_[size_t(stage.inputs[0])] >= 0) return;
        if (copies && stage.kind == INFINI_STAGE_ELEMENTS &&
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
        std::vector<int16_t> outputs(stage.outputs, stage.outputs + stage.output_count);
        for (int16_t &output : outputs)
            if (output >= 0 && forwarded_[size_t(output)] >= 0)
                output = int16_t(forwarded_[size_t(output)]);
        copy.outputs = renumber(outputs.data(), stage.output_count, true);
        if (stage.folded) copy.folded = renumber(stage.folded, stage.output_count, true);
        if (stage.folds)
            copy.folds =
                made_->numbers.emplace_back(stage.folds, stage.folds + stage.output_count).data();
        made_->stages.push_back(copy);
        made_->expressions.push_back(source_.expressions[s]);
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
        // An operand that is read twice is loaded once.
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
        const Location &place = place_of(operand);
        auto use = [&](size_t k) {
            arguments[k].written |= written;
            arguments[k].read |= !written;
            if (written) rounded[k] |= draft_.rounded[size_t(operand.index)];
            return int(k);
        };
        if (is_product(operand)) {
            if (written) arguments[0].written = true, locations[0] = place;
            return 0;
        }
        for (size_t k = draft_.kernel_tensors ? 1 : 0; k < tensors.size(); ++k)
            if (locations[k].memory == place.memory && locations[k].offset == place.offset &&
                tensors[k] == layout)
                return use(k);
        tensors.push_back(layout);
        rounded.push_back(false);
        locations.push_back(place);
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
        program.expressions = made_->expressions.data();
        program.operand_count = int32_t(made_->operands.size());
        program.phase_count = int32_t(made_->phases.size());
        program.stage_count = int32_t(made_->stages.size());
        program.flags = source_.flags;
    }

    const Draft &draft_;
    const InfiniProgram &source_;
    std::shared_ptr<OwnProgram> made_;
    std::vector<Range> written_;
    // By operand: its new number, what is read in its place, and what is written in its place.
    std::vector<int> number_, instead_, forwarded_;
    std::vector<int> attribute_numbers_, scalar_numbers_;
    std::vector<char> only_read_;  // by new operand

    std::vector<Layout> tensors;
    std::vector<uint8_t> rounded;
    std::vector<Step::Argument> arguments;
    std::vector<Location> locations;
    std::vector<InfiniAttribute> attributes;
    std::vector<InfiniScalar> scalars;
};

}  // namespace

std::optional<Node> make_node(const Draft &draft) { return Compactor(draft).make(); }

}  // namespace infinicore::detail
