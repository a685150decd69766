/* Lays out a phase of a program for the tensors of an operation. Header only. */
#ifndef INFINI_LAY_OUT_H
#define INFINI_LAY_OUT_H

#include <infini/expression.h>
#include <infini/layout.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace infini::program {
namespace detail {

// A tensor's sizes and strides as a view shows them.
struct Seen {
    int ndim = 0;
    int64_t size[kDims], stride[kDims], start = 0;
};

inline Seen look(const Tensor &tensor, const InfiniOperand &operand, bool blas) {
    Seen seen;
    if (tensor.ndim > Shape::kMost)
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "a tensor has more than 8 dimensions"};
    seen.ndim = tensor.ndim;
    for (int i = 0; i < tensor.ndim; ++i)
        seen.size[i] = tensor.shape[i], seen.stride[i] = tensor.strides[i];
    const int last = seen.ndim - 1;
    switch (operand.view) {
        case INFINI_VIEW_EXPAND: {
            int at = seen.ndim + 1 + operand.axis;
            for (int i = seen.ndim; i > at; --i)
                seen.size[i] = seen.size[i - 1], seen.stride[i] = seen.stride[i - 1];
            seen.size[at] = 1, seen.stride[at] = 0;
            ++seen.ndim;
            break;
        }
        case INFINI_VIEW_FIRST:
        case INFINI_VIEW_SECOND:
            seen.size[last] /= 2;
            if (operand.view == INFINI_VIEW_SECOND)
                seen.start = seen.size[last] * seen.stride[last];
            break;
        case INFINI_VIEW_ITEM:
            seen.start = operand.axis * seen.stride[last];
            seen.size[last] = 1;
            break;
        default:
            break;
    }
    if (blas && seen.ndim == 1 && seen.stride[0] < 0 && seen.size[0] > 1)
        seen.start -= (seen.size[0] - 1) * seen.stride[0];
    return seen;
}

template <class Step>
class Maker {
public:
    Maker(const Operation &operation, const InfiniProgram &program, int phase, ValueType type,
          const std::vector<Left> &left)
        : operation_(operation), program_(program), phase_(phase), left_(left) {
        layout_.type = type;
        layout_.value_bytes = type == kFloat ? 4 : 8;
        layout_.slots.resize(size_t(program.operand_count));
        seen_.resize(layout_.slots.size());
    }

    LayoutOf<Step> make() {
        add_steps();
        find_shape();
        find_folded();
        find_extents();
        place_operands();
        join_dimensions();
        if (layout_.shared_count > kMostShared || layout_.slots.size() > size_t(kMostOperands))
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "a program has too many operands"};
        return std::move(layout_);
    }

private:
    // ---- Stages and kinds of operands -----------------------------------------------------------

    void add_steps() {
        for (int s = 0; s < program_.stage_count; ++s) {
            const InfiniStage &stage = program_.stages[s];
            if (stage.phase != phase_) continue;
            if (stage.input_count > kMostInputs || stage.output_count > kMostOutputs)
                throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "a stage has too many operands"};
            Step step;
            step.rows = stage.kind == INFINI_STAGE_ROWS;
            step.stage = s;
            for (int i = 0; i < stage.input_count; ++i) {
                step.inputs.push_back(stage.inputs[i]);
                use(stage.inputs[i], step.rows);
            }
            for (int i = 0; i < stage.output_count; ++i) {
                step.outputs.push_back(stage.outputs[i]);
                step.folds.push_back(stage.folds ? stage.folds[i] : 0);
                step.folded.push_back(stage.folded ? stage.folded[i] : -1);
                if (stage.outputs[i] >= 0) use(stage.outputs[i], step.rows);
                if (step.folds.back()) {
                    step.folding = true;
                    use(step.folded.back(), true);
                    if (step.folds.back() >= INFINI_FOLD_ARGMAX) ordered_ = true;
                }
            }
            step.copies = is_copy(expression_of(program_, s));
            layout_.steps.push_back(std::move(step));
        }
    }

    void use(int number, bool rows) {
        Slot &slot = layout_.slots[size_t(number)];
        if (slot.kind != Slot::kNone) return;
        const InfiniOperand &operand = program_.operands[number];
        switch (operand.kind) {
            case INFINI_OPERAND_TENSOR: {
                const Tensor tensor = operation_.tensor(operand.index);
                slot.kind = Slot::kTensor;
                slot.dtype = tensor.dtype;
                slot.pointer = operand.pointer;
                seen_[size_t(number)] =
                    look(tensor, operand, (program_.flags & INFINI_PROGRAM_BLAS) != 0);
                slot.start = seen_[size_t(number)].start;
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
                slot.number = layout_.element_count++;
                break;
            default:
                use_row(slot, number, operand);
        }
        if (slot.kind == Slot::kTensor)
            slot.bytes = int(infiniSizeOf(static_cast<infiniDtype_t>(slot.dtype)));
    }

    void share(Slot &slot) {
        slot.kind = Slot::kShared;
        slot.number = layout_.shared_count++;
    }

    void use_row(Slot &slot, int number, const InfiniOperand &operand) {
        if (operand.phase == phase_) {
            slot.kind = Slot::kRow;
            slot.number = layout_.row_count++;
            if (is_read_later(number)) rows_read_later_.push_back(number);
            return;
        }
        const Left &left = left_[size_t(number)];
        slot.kind = Slot::kTensor;
        slot.dtype = dtype_of(layout_.type);
        slot.start = left.start;
        Seen &seen = seen_[size_t(number)];
        seen.ndim = left.ndim;
        int64_t stride = 1;
        for (int i = left.ndim - 1; i >= 0; --i) {
            seen.size[i] = left.size[i], seen.stride[i] = stride;
            stride *= left.size[i];
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
        for (size_t n = 0; n < layout_.slots.size(); ++n)
            if (layout_.slots[n].kind == Slot::kTensor && !is_by_row(int(n)))
                layout_.ndim = std::max(layout_.ndim, seen_[n].ndim);
        std::fill_n(layout_.size, kDims, 1);
        for (size_t n = 0; n < layout_.slots.size(); ++n) {
            if (layout_.slots[n].kind != Slot::kTensor || is_by_row(int(n))) continue;
            const Seen &seen = seen_[n];
            for (int i = 0; i < seen.ndim; ++i)
                if (seen.size[i] != 1) layout_.size[i + layout_.ndim - seen.ndim] = seen.size[i];
        }
    }

    void find_folded() {
        std::fill_n(layout_.is_folded, kDims, false);
        const InfiniPhase &phase = program_.phases[phase_];
        const int ndim = layout_.ndim;
        auto fold = [&](int64_t axis) {
            if (axis < 0) axis += ndim;
            if (axis >= 0 && axis < ndim) layout_.is_folded[axis] = true;
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
        for (int i = 0; i < layout_.ndim; ++i)
            (layout_.is_folded[i] ? layout_.row_size : layout_.rows) *= layout_.size[i];
        for (size_t n = 0; n < layout_.slots.size(); ++n) {
            Slot &slot = layout_.slots[n];
            if (slot.kind != Slot::kShared || program_.operands[n].kind != INFINI_OPERAND_EXTENT)
                continue;
            int64_t extent = layout_.row_size;
            if (program_.operands[n].phase != phase_)
                extent = extent_of(program_.operands[n].phase);
            slot.value = double(extent);
            slot.whole = extent;
            slot.integer = true;
        }
    }

    int64_t extent_of(int phase) const {
        return Maker(operation_, program_, phase, layout_.type, left_).make().row_size;
    }

    // ---- Strides --------------------------------------------------------------------------------

    void place_operands() {
        for (int row : rows_read_later_) {
            Slot slot;
            slot.kind = Slot::kTensor;
            slot.dtype = dtype_of(layout_.type);
            slot.bytes = int(layout_.value_bytes);
            layout_.spills.push_back({row, int(layout_.slots.size())});
            layout_.slots.push_back(slot);
        }
        strides_.assign(layout_.slots.size(), std::vector<int64_t>(kDims, 0));
        for (size_t n = 0; n < layout_.slots.size(); ++n) {
            const Slot &slot = layout_.slots[n];
            if (n >= seen_.size()) {
                int64_t stride = 1;
                for (int i = layout_.ndim - 1; i >= 0; --i) {
                    if (layout_.is_folded[i]) continue;
                    strides_[n][size_t(i)] = stride;
                    stride *= layout_.size[i];
                }
            } else if (slot.kind == Slot::kPosition) {
                int axis = program_.operands[n].axis;
                strides_[n][size_t(axis < 0 ? axis + layout_.ndim : axis)] = 1;
            } else if (slot.kind == Slot::kTensor && is_by_row(int(n))) {
                place_result(n);
            } else if (slot.kind == Slot::kTensor) {
                const Seen &seen = seen_[n];
                for (int i = 0; i < seen.ndim; ++i)
                    strides_[n][size_t(i + layout_.ndim - seen.ndim)] =
                        seen.size[i] == 1 ? 0 : seen.stride[i];
            }
        }
    }

    // A result for each row has the folded dimensions with size 1, or does not have them.
    void place_result(size_t n) {
        const Seen &seen = seen_[n];
        if (seen.ndim == layout_.ndim) {
            bool same = true;
            for (int i = 0; i < seen.ndim; ++i)
                same &= seen.size[i] == (layout_.is_folded[i] ? 1 : layout_.size[i]);
            if (same) {
                for (int i = 0; i < seen.ndim; ++i)
                    strides_[n][size_t(i)] = layout_.is_folded[i] ? 0 : seen.stride[i];
                return;
            }
        }
        int at = seen.ndim;
        for (int i = layout_.ndim - 1; i >= 0 && at > 0; --i)
            if (!layout_.is_folded[i]) strides_[n][size_t(i)] = seen.stride[--at];
    }

    // ---- Joining --------------------------------------------------------------------------------

    // The operand whose order in memory decides: the largest one, and an output before inputs.
    size_t leader() const {
        size_t best = layout_.slots.size();
        auto weight = [&](size_t n) {
            int64_t count = 1;
            for (int i = 0; i < layout_.ndim; ++i)
                if (strides_[n][size_t(i)] != 0) count *= layout_.size[i];
            return count;
        };
        auto consider = [&](int number) {
            size_t n = size_t(number);
            if (number < 0 || layout_.slots[n].kind != Slot::kTensor) return;
            if (best == layout_.slots.size() || weight(n) > weight(best)) best = n;
        };
        for (const Step &step : layout_.steps)
            if (!step.rows)
                for (int number : step.outputs) consider(number);
        for (const Step &step : layout_.steps)
            if (!step.rows)
                for (int number : step.inputs) consider(number);
        return best;
    }

    void join_dimensions() {
        const size_t lead = leader();
        std::vector<int> kept, folded;
        for (int i = 0; i < layout_.ndim; ++i)
            if (layout_.size[i] != 1) (layout_.is_folded[i] ? folded : kept).push_back(i);
        if (lead != layout_.slots.size()) {
            auto wider = [&](int a, int b) {
                return std::llabs(strides_[lead][size_t(a)]) >
                       std::llabs(strides_[lead][size_t(b)]);
            };
            std::stable_sort(kept.begin(), kept.end(), wider);
            if (!ordered_) std::stable_sort(folded.begin(), folded.end(), wider);
        }
        join(kept, layout_.kept, &Slot::kept);
        join(folded, layout_.folded, &Slot::folded);
    }

    void join(const std::vector<int> &dims, Walk &walk, int64_t (Slot::*strides)[kDims]) {
        for (int dim : dims) {
            bool joined = walk.count > 0;
            for (size_t n = 0; n < layout_.slots.size() && joined; ++n)
                joined = (layout_.slots[n].*strides)[walk.count - 1] ==
                         strides_[n][size_t(dim)] * layout_.size[dim];
            if (!joined) walk.size[walk.count++] = 1;
            walk.size[walk.count - 1] *= layout_.size[dim];
            for (size_t n = 0; n < layout_.slots.size(); ++n)
                (layout_.slots[n].*strides)[walk.count - 1] = strides_[n][size_t(dim)];
        }
    }

    const Operation &operation_;
    const InfiniProgram &program_;
    const int phase_;
    const std::vector<Left> &left_;
    LayoutOf<Step> layout_;
    std::vector<Seen> seen_;
    std::vector<std::vector<int64_t>> strides_;  // by operand and dimension
    std::vector<int> by_row_;                    // tensors with an entry for each row
    std::vector<int> rows_read_later_;
    bool ordered_ = false;  // the order inside a row matters
};

}  // namespace detail

template <class Step>
LayoutOf<Step> lay_out(const Operation &operation, const InfiniProgram &program, int phase,
                       ValueType type, const std::vector<Left> &left) {
    return detail::Maker<Step>(operation, program, phase, type, left).make();
}

}  // namespace infini::program
#endif
