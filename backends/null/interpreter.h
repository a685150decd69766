// Runs programs (infini/program.h) on the host, one element after the other: all operators that
// have a program, in every dtype and with any strides. It is slow but readable: a back end starts
// with it, and later compares its own engine with it.
//
//     plan = infini::plain::plan(operation);  // throws Refusal, with the reason
//     plan->run(arguments);                   // as often as the client asks for it
//
// Floats are computed in double and rounded once, when they are stored; integers in 64 bits.
#pragma once

#include <infini/make_loop_nest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "functions.h"
#include "storage.h"

namespace infini::plain {

using program::Slot;

class Plan {
public:
    virtual ~Plan() = default;
    // Allocates nothing and does not throw. Several threads may call it.
    virtual void run(const Arguments &arguments) const = 0;

    size_t workspace = 0;  // bytes
};

// A client's number as a value: truncated for integers; negative numbers wrap if unsigned.
template <class V>
V value_of(double number) {
    if (std::is_unsigned_v<V> && number < 0) return V(convert<int64_t>(number));
    return convert<V>(number);
}

// ---- Stages: an expression for each element, or for each row ------------------------------------

template <class V>
struct Stage : program::Stage {
    static constexpr int kMostNodes = 512;
    struct Node {
        Function<V> function;  // null: an input or a constant
        int16_t args[3];       // earlier nodes; of an input its number, of a constant -1
        V constant;
    };
    std::vector<Node> nodes;
    std::vector<int> results;  // the node of each output

    void set_expression(const InfiniExpression &expression, const char *name, bool single) {
        auto refuse = [&](const std::string &reason) {
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, std::string(name) + ": " + reason};
        };
        if (expression.node_count == 0) refuse("its expressions are not given as nodes");
        if (expression.node_count > kMostNodes) refuse("an expression has too many nodes");
        results.assign(expression.results, expression.results + expression.result_count);
        for (int n = 0; n < expression.node_count; ++n) {
            const InfiniNode &given = expression.nodes[n];
            Node node{nullptr, {-1, -1, -1}, V(0)};
            if (given.op == INFINI_NODE_CONSTANT) {
                node.constant = value_of<V>(given.value);
            } else if (given.op == INFINI_NODE_INPUT) {
                node.args[0] = given.args[0];
            } else {
                node.function = function_of<V>(given.op, single);
                if (!node.function)
                    refuse("function " + std::to_string(given.op) + " is unknown for its dtypes");
                // Unused arguments are passed too, and ignored.
                for (int i = 0; i < 3; ++i) node.args[i] = std::max(given.args[i], int16_t(0));
            }
            nodes.push_back(node);
        }
    }

    void evaluate(const V *inputs, V *values) const {
        for (size_t n = 0; n < nodes.size(); ++n) {
            const Node &node = nodes[n];
            if (node.function)
                values[n] =
                    node.function(values[node.args[0]], values[node.args[1]], values[node.args[2]]);
            else
                values[n] = node.args[0] < 0 ? node.constant : inputs[node.args[0]];
        }
    }
};

// ---- Folds: a row of values to one --------------------------------------------------------------

template <class V>
class Fold {
public:
    explicit Fold(int kind = INFINI_FOLD_NONE) : kind_(kind), sum_(kind == INFINI_FOLD_PROD) {
        using Limits = std::numeric_limits<V>;
        constexpr bool kInfinite = Limits::has_infinity;
        if (kind == INFINI_FOLD_ALL) value_ = 1;
        if (kind == INFINI_FOLD_MAX) value_ = kInfinite ? -Limits::infinity() : Limits::lowest();
        if (kind == INFINI_FOLD_MIN) value_ = kInfinite ? Limits::infinity() : Limits::max();
    }

    void add(V x, int64_t element) {
        switch (kind_) {
            case INFINI_FOLD_NONE:
                break;
            case INFINI_FOLD_SUM:
                sum_ += Sum(x);
                break;
            case INFINI_FOLD_PROD:
                sum_ *= Sum(x);
                break;
            case INFINI_FOLD_ANY:
                value_ = V(value_ != 0 || x != 0);
                break;
            case INFINI_FOLD_ALL:
                value_ = V(value_ != 0 && x != 0);
                break;
            default:
                if (index_ < 0 || beats(x)) value_ = x, index_ = element;
        }
    }

    V result() const {
        if (kind_ == INFINI_FOLD_SUM || kind_ == INFINI_FOLD_PROD) return V(sum_);
        return kind_ >= INFINI_FOLD_ARGMAX ? V(index_) : value_;
    }

private:
    // Wider than values, so that sums of long rows stay accurate; integer sums wrap.
    using Sum = std::conditional_t<std::is_integral_v<V>, uint64_t, long double>;

    // The first of equal elements wins, and the first NaN.
    bool beats(V x) const {
        if (value_ != value_) return false;
        const bool greatest = kind_ == INFINI_FOLD_MAX || kind_ == INFINI_FOLD_ARGMAX;
        return x != x || (greatest ? x > value_ : x < value_);
    }

    int kind_;
    Sum sum_;  // or the product
    V value_ = 0;
    int64_t index_ = -1;
};

// ---- Phases: all stages for a row, then the next row --------------------------------------------

template <class V>
struct Phase {
    program::LoopNestOf<Stage<V>> nest;
    std::vector<Storage<V>> storage;  // by slot
};

// One run of a phase. A phase that folds nothing has rows of one element.
template <class V>
class PhaseRun {
public:
    PhaseRun(const Phase<V> &phase, const Arguments &arguments, char *elements)
        : nest_(phase.nest), storage_(phase.storage), arguments_(arguments), elements_(elements) {
        for (const Slot &slot : nest_.slots)
            if (slot.kind == Slot::kShared) shared_[slot.number] = shared(slot);
    }

    void run() {
        for (int64_t row = 0; row < nest_.rows; ++row) {
            nest_.kept.locate(row, kept_);
            for (const Stage<V> &stage : nest_.stages) run_stage(stage);
            for (const auto &spill : nest_.spills) write(spill.slot, read(spill.row));
        }
    }

private:
    void run_stage(const Stage<V> &stage) {
        V inputs[program::kMostInputs], values[Stage<V>::kMostNodes];
        Fold<V> folds[program::kMostOutputs];
        const size_t input_count = stage.inputs.size(), output_count = stage.outputs.size();
        for (size_t i = 0; i < output_count; ++i) folds[i] = Fold<V>(stage.folds[i]);
        std::fill_n(folded_, program::kDims, 0);
        for (element_ = 0; element_ < (stage.rows ? 1 : nest_.row_size); ++element_) {
            if (!stage.rows) nest_.folded.locate(element_, folded_);
            for (size_t i = 0; i < input_count; ++i) inputs[i] = read(stage.inputs[i]);
            stage.evaluate(inputs, values);
            for (size_t i = 0; i < output_count; ++i) {
                const V result = values[stage.results[i]];
                if (stage.outputs[i] >= 0) write(stage.outputs[i], result);
                folds[i].add(result, element_);
            }
        }
        for (size_t i = 0; i < output_count; ++i)
            if (stage.folds[i]) write(stage.folded[i], folds[i].result());
    }

    V read(int operand) const {
        const Slot &slot = nest_.slots[size_t(operand)];
        if (slot.kind == Slot::kShared) return shared_[slot.number];
        if (slot.kind == Slot::kRow) return rows_[slot.number];
        if (slot.kind == Slot::kPosition) return V(offset(slot));
        return storage_[size_t(operand)].load(address(slot));
    }

    void write(int operand, V value) {
        const Slot &slot = nest_.slots[size_t(operand)];
        if (slot.kind == Slot::kRow)
            rows_[slot.number] = value;
        else
            storage_[size_t(operand)].store(address(slot), value);
    }

    // Of the current element, in a tensor or among the temporaries.
    char *address(const Slot &slot) const {
        if (slot.kind == Slot::kElement)
            return elements_ + (slot.number * nest_.row_size + element_) * int64_t(sizeof(V));
        return slot.base(arguments_) + offset(slot) * slot.bytes;
    }
    int64_t offset(const Slot &slot) const {
        return slot.along(slot.kept, nest_.kept, kept_) +
               slot.along(slot.folded, nest_.folded, folded_);
    }

    V shared(const Slot &slot) const {
        if (slot.integer) return V(slot.run_time ? arguments_.integer(slot.scalar) : slot.whole);
        return value_of<V>(slot.run_time ? arguments_.number(slot.scalar) : slot.value);
    }

    const program::LoopNestOf<Stage<V>> &nest_;
    const std::vector<Storage<V>> &storage_;
    const Arguments &arguments_;
    char *const elements_;                                   // temporaries of the current row
    V shared_[program::kMostShared];                         // one for all elements
    V rows_[program::kMostOperands];                         // one for the current row
    int64_t kept_[program::kDims], folded_[program::kDims];  // coordinates of row and element
    int64_t element_ = 0;
};

// ---- Plans --------------------------------------------------------------------------------------

template <class V>
class ProgramPlan final : public Plan {
public:
    // `single`: the tensors are F32 at most.
    ProgramPlan(const Operation &operation, program::ValueType type, bool single) {
        const InfiniProgram &given = *operation.program();
        std::vector<program::Spilled> spilled(size_t(given.operand_count));
        size_t most_elements = 0;
        for (int number = 0; number < given.phase_count; ++number) {
            Phase<V> phase{
                program::make_loop_nest<Stage<V>>(operation, given, number, type, spilled), {}};
            for (Stage<V> &stage : phase.nest.stages)
                stage.set_expression(program::expression_of(given, stage.number), operation.name(),
                                     single);
            place_spills(phase.nest, spilled);
            find_storage(phase, operation.name());
            most_elements = std::max(
                most_elements, size_t(phase.nest.element_count) * size_t(phase.nest.row_size));
            phases_.push_back(std::move(phase));
        }
        workspace = spilled_ + most_elements * sizeof(V);
    }

    void run(const Arguments &arguments) const override {
        for (const Phase<V> &phase : phases_)
            PhaseRun<V>(phase, arguments, arguments.workspace() + spilled_).run();
    }

private:
    // Results for each row that later phases read as tensors.
    void place_spills(program::LoopNestOf<Stage<V>> &nest, std::vector<program::Spilled> &spilled) {
        for (const auto &spill : nest.spills) {
            program::Spilled &result = spilled[size_t(spill.row)];
            result.start = nest.slots[size_t(spill.slot)].start = int64_t(spilled_);
            result.ndim = nest.ndim;
            for (int i = 0; i < nest.ndim; ++i)
                result.size[i] = nest.is_folded[i] ? 1 : nest.size[i];
            spilled_ += size_t(nest.rows) * sizeof(V);
        }
    }

    void find_storage(Phase<V> &phase, const std::string &name) {
        const int temporary = program::dtype_of(phase.nest.type);
        for (const Slot &slot : phase.nest.slots) {
            const int dtype = slot.kind == Slot::kTensor ? slot.dtype : temporary;
            phase.storage.push_back(storage_of<V>(dtype));
            if (!phase.storage.back().load)
                throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE,
                              name + ": there is no arithmetic for one of its dtypes"};
        }
    }

    std::vector<Phase<V>> phases_;
    size_t spilled_ = 0;  // bytes kept for later phases; the temporaries follow
};

// Whether the program uses only features of this version of the contract.
inline bool is_known(const InfiniProgram &given) {
    bool known = !(given.flags & ~uint32_t(INFINI_PROGRAM_WIDE | INFINI_PROGRAM_BLAS));
    for (int i = 0; i < given.operand_count; ++i)
        known &= given.operands[i].kind <= INFINI_OPERAND_ROW &&
                 given.operands[i].view <= INFINI_VIEW_ITEM;
    for (int i = 0; i < given.phase_count; ++i) known &= given.phases[i].kind <= INFINI_AXIS_FROM;
    for (int i = 0; i < given.stage_count; ++i)
        for (int k = 0; given.stages[i].folds && k < given.stages[i].output_count; ++k)
            known &= given.stages[i].folds[k] <= INFINI_FOLD_ARGMIN;
    return known;
}

inline std::unique_ptr<Plan> plan(const Operation &operation) {
    const InfiniProgram *given = operation.program();
    auto refuse = [&](const char *reason) {
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, operation.name() + std::string(reason)};
    };
    if (!given) refuse(" has no program: it needs a kernel of its own");
    if (given->flags & INFINI_PROGRAM_EPILOGUE) refuse(" needs a kernel that takes an epilogue");
    if (!is_known(*given)) refuse(" has a program that is newer than this back end");
    switch (program::value_type(operation, *given)) {
        case program::kInt64:
            return std::make_unique<ProgramPlan<int64_t>>(operation, program::kInt64, false);
        case program::kUint64:
            return std::make_unique<ProgramPlan<uint64_t>>(operation, program::kUint64, false);
        case program::kFloat:
            return std::make_unique<ProgramPlan<double>>(operation, program::kDouble, true);
        default:
            return std::make_unique<ProgramPlan<double>>(operation, program::kDouble, false);
    }
}

}  // namespace infini::plain
