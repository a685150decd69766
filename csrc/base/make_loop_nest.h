/* Builds the loop nest of a program's phase for the tensors of an operation. Header only. */
#ifndef INFINI_MAKE_LOOP_NEST_H
#define INFINI_MAKE_LOOP_NEST_H

#include <infini/expression.h>
#include <infini/loop_nest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace infini::program {
namespace detail {

// A tensor's sizes and strides with the operand's view applied.
struct View {
    int ndim = 0;
    int64_t size[kDims], stride[kDims], start = 0;
};

inline View view_of(const Tensor &tensor, const InfiniOperand &operand, bool blas) {
    View view;
    if (tensor.ndim > Shape::kMost)
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "a tensor has more than 8 dimensions"};
    view.ndim = tensor.ndim;
    for (int i = 0; i < tensor.ndim; ++i)
        view.size[i] = tensor.shape[i], view.stride[i] = tensor.strides[i];
    const int last = view.ndim - 1;
    switch (operand.view) {
        case INFINI_VIEW_EXPAND: {
            int at = view.ndim + 1 + operand.axis;
            for (int i = view.ndim; i > at; --i)
                view.size[i] = view.size[i - 1], view.stride[i] = view.stride[i - 1];
            view.size[at] = 1, view.stride[at] = 0;
            ++view.ndim;
            break;
        }
        case INFINI_VIEW_FIRST:
        case INFINI_VIEW_SECOND:
            view.size[last] /= 2;
            if (operand.view == INFINI_VIEW_SECOND)
                view.start = view.size[last] * view.stride[last];
            break;
        case INFINI_VIEW_ITEM:
            view.start = operand.axis * view.stride[last];
            view.size[last] = 1;
            break;
        default:
            break;
    }
    if (blas && view.ndim == 1 && view.stride[0] < 0 && view.size[0] > 1)
        view.start -= (view.size[0] - 1) * view.stride[0];
    return view;
}

template <class Stage>
class Maker {
public:
    Maker(const Operation &operation, const InfiniProgram &program, int phase, ValueType type,
          const std::vector<Spilled> &spilled)
        : operation_(operation), program_(program), phase_(phase), spilled_(spilled) {
        nest_.type = type;
        nest_.value_bytes = type == kFloat ? 4 : 8;
        nest_.slots.resize(size_t(program.operand_count));
        views_.resize(nest_.slots.size());
    }

    LoopNestOf<Stage> make() {
        add_stages();
        find_shape();
        find_folded();
        find_extents();
        place_operands();
        join_dimensions();
        if (nest_.shared_count > kMostShared || nest_.slots.size() > size_t(kMostOperands))
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "a program has too many operands"};
        return std::move(nest_);
    }

private:
    // ---- Stages and kinds of operands -----------------------------------------------------------

    void add_stages() {
        for (int s = 0; s < program_.stage_count; ++s) {
            const InfiniStage &declared = program_.stages[s];
            if (declared.phase != phase_) continue;
            if (declared.input_count > kMostInputs || declared.output_count > kMostOutputs)
                throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "a stage has too many operands"};
            Stage stage;
            stage.rows = declared.kind == INFINI_STAGE_ROWS;
            stage.number = s;
            for (int i = 0; i < declared.input_count; ++i) {
                stage.inputs.push_back(declared.inputs[i]);
                use(declared.inputs[i], stage.rows);
            }
            for (int i = 0; i < declared.output_count; ++i) {
                stage.outputs.push_back(declared.outputs[i]);
                stage.folds.push_back(declared.folds ? declared.folds[i] : 0);
                stage.folded.push_back(declared.folded ? declared.folded[i] : -1);
                if (declared.outputs[i] >= 0) use(declared.outputs[i], stage.rows);
                if (stage.folds.back()) {
                    stage.folding = true;
                    use(stage.folded.back(), true);
                    if (stage.folds.back() >= INFINI_FOLD_ARGMAX) ordered_ = true;
                }
            }
            stage.copies = is_copy(expression_of(program_, s));
            nest_.stages.push_back(std::move(stage));
        }
    }

    void use(int number, bool rows) {
        Slot &slot = nest_.slots[size_t(number)];
        if (slot.kind != Slot::kNone) return;
        const InfiniOperand &operand = program_.operands[number];
        switch (operand.kind) {
            case INFINI_OPERAND_TENSOR: {
                const Tensor tensor = operation_.tensor(operand.index);
                slot.kind = Slot::kTensor;
                slot.dtype = tensor.dtype;
                slot.pointer = operand.pointer;
                views_[size_t(number)] =
                    view_of(tensor, operand, (program_.flags & INFINI_PROGRAM_BLAS) != 0);
                slot.start = views_[size_t(number)].start;
                if (rows) by_row_.push_back(number);
                break;
            }
            case INFINI_OPERAND_POSITION:
                slot.kind = Slot::kPosition;
                break;
            case INFINI_OPERAND_ATTRIBUTE:
                share(slot);
                slot.value = operation_.number(operand.index);
                slot.integer = operand.integer != 0;
                if (slot.integer) slot.whole = operation_.integer(operand.index);
                break;
            case INFINI_OPERAND_SCALAR:
                share(slot);
                slot.run_time = true;
                slot.integer = operand.integer != 0;
                slot.scalar = operand.index;
                break;
            case INFINI_OPERAND_EXTENT:
                share(slot);
                break;
            case INFINI_OPERAND_ELEMENT:
                slot.kind = Slot::kElement;
                slot.number = nest_.element_count++;
                break;
            default:
                use_row(slot, number, operand);
        }
        if (slot.kind == Slot::kTensor)
            slot.bytes = int(infiniSizeOf(static_cast<infiniDtype_t>(slot.dtype)));
    }

    void share(Slot &slot) {
        slot.kind = Slot::kShared;
        slot.number = nest_.shared_count++;
    }

    void use_row(Slot &slot, int number, const InfiniOperand &operand) {
        if (operand.phase == phase_) {
            slot.kind = Slot::kRow;
            slot.number = nest_.row_count++;
            if (is_read_later(number)) rows_read_later_.push_back(number);
            return;
        }
        const Spilled &spilled = spilled_[size_t(number)];
        slot.kind = Slot::kTensor;
        slot.dtype = dtype_of(nest_.type);
        slot.start = spilled.start;
        View &view = views_[size_t(number)];
        view.ndim = spilled.ndim;
        int64_t stride = 1;
        for (int i = spilled.ndim - 1; i >= 0; --i) {
            view.size[i] = spilled.size[i], view.stride[i] = stride;
            stride *= spilled.size[i];
        }
    }

    bool is_read_later(int operand) const {
        for (int s = 0; s < program_.stage_count; ++s) {
            const InfiniStage &stage = program_.stages[s];
            for (int i = 0; i < stage.input_count && stage.phase > phase_; ++i)
                if (stage.inputs[i] == operand) return true;
        }
        return false;
    }

    // ---- The index space ------------------------------------------------------------------------

    bool is_by_row(int number) const {
        return std::find(by_row_.begin(), by_row_.end(), number) != by_row_.end();
    }

    void find_shape() {
        for (size_t n = 0; n < nest_.slots.size(); ++n)
            if (nest_.slots[n].kind == Slot::kTensor && !is_by_row(int(n)))
                nest_.ndim = std::max(nest_.ndim, views_[n].ndim);
        std::fill_n(nest_.size, kDims, 1);
        for (size_t n = 0; n < nest_.slots.size(); ++n) {
            if (nest_.slots[n].kind != Slot::kTensor || is_by_row(int(n))) continue;
            const View &view = views_[n];
            for (int i = 0; i < view.ndim; ++i)
                if (view.size[i] != 1) nest_.size[i + nest_.ndim - view.ndim] = view.size[i];
        }
    }

    void find_folded() {
        std::fill_n(nest_.is_folded, kDims, false);
        const InfiniPhase &phase = program_.phases[phase_];
        const int ndim = nest_.ndim;
        auto fold = [&](int64_t axis) {
            if (axis < 0) axis += ndim;
            if (axis >= 0 && axis < ndim) nest_.is_folded[axis] = true;
        };
        switch (phase.kind) {
            case INFINI_AXIS_ALL:
                for (int i = 0; i < ndim; ++i) fold(i);
                break;
            case INFINI_AXIS_FROM:
                for (int i = phase.axis; i < ndim; ++i) fold(i);
                break;
            case INFINI_AXIS_DIM:
                fold(phase.axis);
                break;
            case INFINI_AXIS_ATTRIBUTE: {
                const InfiniAttribute &axes = operation_.c.attributes[phase.axis];
                if (axes.list)
                    for (size_t i = 0; i < axes.count; ++i)
                        fold(static_cast<const int64_t *>(axes.list)[i]);
                else if (axes.count == 0)
                    fold(axes.value.i);
                break;
            }
            default:
                break;
        }
    }

    void find_extents() {
        for (int i = 0; i < nest_.ndim; ++i)
            (nest_.is_folded[i] ? nest_.row_size : nest_.rows) *= nest_.size[i];
        for (size_t n = 0; n < nest_.slots.size(); ++n) {
            Slot &slot = nest_.slots[n];
            if (slot.kind != Slot::kShared || program_.operands[n].kind != INFINI_OPERAND_EXTENT)
                continue;
            int64_t extent = nest_.row_size;
            if (program_.operands[n].phase != phase_)
                extent = extent_of(program_.operands[n].phase);
            slot.value = double(extent);
            slot.whole = extent;
            slot.integer = true;
        }
    }

    int64_t extent_of(int phase) const {
        return Maker(operation_, program_, phase, nest_.type, spilled_).make().row_size;
    }

    // ---- Strides --------------------------------------------------------------------------------

    void place_operands() {
        for (int row : rows_read_later_) {
            Slot slot;
            slot.kind = Slot::kTensor;
            slot.dtype = dtype_of(nest_.type);
            slot.bytes = int(nest_.value_bytes);
            nest_.spills.push_back({row, int(nest_.slots.size())});
            nest_.slots.push_back(slot);
        }
        strides_.assign(nest_.slots.size(), std::vector<int64_t>(kDims, 0));
        for (size_t n = 0; n < nest_.slots.size(); ++n) {
            const Slot &slot = nest_.slots[n];
            if (n >= views_.size()) {
                int64_t stride = 1;
                for (int i = nest_.ndim - 1; i >= 0; --i) {
                    if (nest_.is_folded[i]) continue;
                    strides_[n][size_t(i)] = stride;
                    stride *= nest_.size[i];
                }
            } else if (slot.kind == Slot::kPosition) {
                int axis = program_.operands[n].axis;
                strides_[n][size_t(axis < 0 ? axis + nest_.ndim : axis)] = 1;
            } else if (slot.kind == Slot::kTensor && is_by_row(int(n))) {
                place_result(n);
            } else if (slot.kind == Slot::kTensor) {
                const View &view = views_[n];
                for (int i = 0; i < view.ndim; ++i)
                    strides_[n][size_t(i + nest_.ndim - view.ndim)] =
                        view.size[i] == 1 ? 0 : view.stride[i];
            }
        }
    }

    // A result per row may have the folded dimensions with size 1, or not at all.
    void place_result(size_t n) {
        const View &view = views_[n];
        if (view.ndim == nest_.ndim) {
            bool same = true;
            for (int i = 0; i < view.ndim; ++i)
                same &= view.size[i] == (nest_.is_folded[i] ? 1 : nest_.size[i]);
            if (same) {
                for (int i = 0; i < view.ndim; ++i)
                    strides_[n][size_t(i)] = nest_.is_folded[i] ? 0 : view.stride[i];
                return;
            }
        }
        int at = view.ndim;
        for (int i = nest_.ndim - 1; i >= 0 && at > 0; --i)
            if (!nest_.is_folded[i]) strides_[n][size_t(i)] = view.stride[--at];
    }

    // ---- Joining --------------------------------------------------------------------------------

    // The operand whose memory order decides: the largest, and outputs before inputs.
    size_t leader() const {
        size_t best = nest_.slots.size();
        auto weight = [&](size_t n) {
            int64_t count = 1;
            for (int i = 0; i < nest_.ndim; ++i)
                if (strides_[n][size_t(i)] != 0) count *= nest_.size[i];
            return count;
        };
        auto consider = [&](int number) {
            size_t n = size_t(number);
            if (number < 0 || nest_.slots[n].kind != Slot::kTensor) return;
            if (best == nest_.slots.size() || weight(n) > weight(best)) best = n;
        };
        for (const Stage &stage : nest_.stages)
            if (!stage.rows)
                for (int number : stage.outputs) consider(number);
        for (const Stage &stage : nest_.stages)
            if (!stage.rows)
                for (int number : stage.inputs) consider(number);
        return best;
    }

    void join_dimensions() {
        const size_t lead = leader();
        std::vector<int> kept, folded;
        for (int i = 0; i < nest_.ndim; ++i)
            if (nest_.size[i] != 1) (nest_.is_folded[i] ? folded : kept).push_back(i);
        if (lead != nest_.slots.size()) {
            auto wider = [&](int a, int b) {
                return std::llabs(strides_[lead][size_t(a)]) >
                       std::llabs(strides_[lead][size_t(b)]);
            };
            std::stable_sort(kept.begin(), kept.end(), wider);
            if (!ordered_) std::stable_sort(folded.begin(), folded.end(), wider);
        }
        join(kept, nest_.kept, &Slot::kept);
        join(folded, nest_.folded, &Slot::folded);
    }

    void join(const std::vector<int> &dims, Walk &walk, int64_t (Slot::*strides)[kDims]) {
        for (int dim : dims) {
            bool joined = walk.count > 0;
            for (size_t n = 0; n < nest_.slots.size() && joined; ++n)
                joined = (nest_.slots[n].*strides)[walk.count - 1] ==
                         strides_[n][size_t(dim)] * nest_.size[dim];
            if (!joined) walk.size[walk.count++] = 1;
            walk.size[walk.count - 1] *= nest_.size[dim];
            for (size_t n = 0; n < nest_.slots.size(); ++n)
                (nest_.slots[n].*strides)[walk.count - 1] = strides_[n][size_t(dim)];
        }
    }

    const Operation &operation_;
    const InfiniProgram &program_;
    const int phase_;
    const std::vector<Spilled> &spilled_;
    LoopNestOf<Stage> nest_;
    std::vector<View> views_;
    std::vector<std::vector<int64_t>> strides_;  // by operand and dimension
    std::vector<int> by_row_;                    // tensors with an entry for each row
    std::vector<int> rows_read_later_;
    bool ordered_ = false;  // the order inside a row matters
};

}  // namespace detail

template <class Stage>
LoopNestOf<Stage> make_loop_nest(const Operation &operation, const InfiniProgram &program,
                                 int phase, ValueType type, const std::vector<Spilled> &spilled) {
    return detail::Maker<Stage>(operation, program, phase, type, spilled).make();
}

}  // namespace infini::program
#endif
