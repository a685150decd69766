// Many copies in one call. They are not ordered among themselves, so all are checked before the
// first begins.
#include "capture.h"
#include "copy.h"
#include "impl.h"

namespace infini::rt {
namespace {

struct BatchCopy {
    CopyPlan plan;
    bool read_now;  // the source is to be read before the call returns
};

// Rules that both forms share. The failing copy is reported by its index, any other error by
// SIZE_MAX.
class Batch {
public:
    Batch(Call &call, Stream &stream, size_t *fail_index)
        : call_(call), stream_(stream), fail_index_(fail_index) {}

    Error check(size_t count, const char *name) {
        if (stream_.legacy)
            return call_.invalid("stream is the null stream: expected a created stream");
        at_fault(SIZE_MAX, infinirtSuccess);
        if (count == 0) return call_.invalid("%s is 0", name);
        if (stream_.capture.load(std::memory_order_acquire))
            return refuse_in_capture(call_, stream_, "a batch of copies cannot be captured");
        copies_.reserve(count);
        return infinirtSuccess;
    }

    Error check(infinirtMemcpySrcAccessOrder order, unsigned flags, size_t index) {
        if (order < infinirtMemcpySrcAccessOrderStream || order > infinirtMemcpySrcAccessOrderAny)
            return call_.invalid("srcAccessOrder of copy %zu is %d: expected 1 to 3", index,
                                 static_cast<int>(order));
        if (flags & ~static_cast<unsigned>(infinirtMemcpyFlagPreferOverlapWithCompute))
            return call_.invalid("flags of copy %zu is 0x%x: expected infinirtMemcpyFlags", index,
                                 flags);
        return infinirtSuccess;
    }

    Error add(infinirtMemcpySrcAccessOrder order, auto make) {
        BatchCopy copy{};
        copy.read_now = order == infinirtMemcpySrcAccessOrderDuringApiCall;
        Error error = make(&copy.plan);
        if (error == infinirtSuccess && copy.plan.empty)
            error = call_.invalid("copy %zu has no bytes", copies_.size());
        if (error != infinirtSuccess) return at_fault(copies_.size(), error);
        copies_.push_back(copy);
        return error;
    }

    Error run() {
        for (size_t i = 0; i < copies_.size(); ++i) {
            if (Error error = run_copy(call_, copies_[i].plan, stream_, copies_[i].read_now))
                return at_fault(i, error);
        }
        return infinirtSuccess;
    }

private:
    Error at_fault(size_t index, Error error) {
        if (fail_index_) *fail_index_ = index;
        return error;
    }

    Call &call_;
    Stream &stream_;
    size_t *const fail_index_;
    std::vector<BatchCopy> copies_;
};

// A pointer operand: contiguous rows unless their lengths are given.
Error side(Call &call, const char *name, const infinirtMemcpy3DOperand &operand,
           const infinirtExtent &extent, void **pointer, size_t *pitch, size_t *slice) {
    if (operand.type != infinirtMemcpyOperandTypePointer)
        return operand.type == infinirtMemcpyOperandTypeArray
                   ? call.fail(infinirtErrorNotSupported,
                               "%s is an array: arrays are not supported, only pointers", name)
                   : call.invalid("%s.type is %d: expected infinirtMemcpyOperandTypePointer", name,
                                  static_cast<int>(operand.type));
    *pointer = operand.op.ptr.ptr;
    *pitch = operand.op.ptr.rowLength ? operand.op.ptr.rowLength : extent.width;
    size_t rows = operand.op.ptr.layerHeight ? operand.op.ptr.layerHeight : extent.height;
    if (*pitch < extent.width)
        return call.fail(infinirtErrorInvalidPitchValue,
                         "%s.rowLength is %zu: expected 0, or at least the width %zu", name, *pitch,
                         extent.width);
    if (rows < extent.height || __builtin_mul_overflow(*pitch, rows, slice))
        return call.invalid("%s.layerHeight is %zu: expected 0, or at least the height %zu", name,
                            rows, extent.height);
    return infinirtSuccess;
}

Error plan_operands(Call &call, const infinirtMemcpy3DBatchOp &op, CopyPlan *plan) {
    const infinirtExtent &extent = op.extent;
    plan->empty = extent.width == 0 || extent.height == 0 || extent.depth == 0;
    if (plan->empty) return infinirtSuccess;
    plan->work.kind = INFINI_WORK_COPY;
    InfiniCopy &copy = plan->work.as.copy;
    copy.width = extent.width;
    copy.height = extent.height;
    copy.depth = extent.depth;
    void *src;
    if (Error error =
            side(call, "dst", op.dst, extent, &copy.dst, &copy.dst_pitch, &copy.dst_slice))
        return error;
    if (Error error = side(call, "src", op.src, extent, &src, &copy.src_pitch, &copy.src_slice))
        return error;
    copy.src = src;
    return check_plan(call, infinirtMemcpyDefault, plan);
}

}  // namespace

namespace impl {

Error MemcpyBatchAsync(Call &call, void **dsts, void **srcs, size_t *sizes, size_t count,
                       infinirtMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
                       size_t *failIdx, Stream &stream) {
    Batch batch(call, stream, failIdx);
    if (Error error = batch.check(count, "count")) return error;
    if (numAttrs == 0 || numAttrs > count)
        return call.invalid("numAttrs is %zu: expected 1 to the number of copies, %zu", numAttrs,
                            count);
    for (size_t i = 0; i < numAttrs; ++i) {
        bool fits = i == 0 ? attrsIdxs[0] == 0 : attrsIdxs[i] > attrsIdxs[i - 1];
        if (!fits || attrsIdxs[i] >= count)
            return call.invalid("attrsIdxs[%zu] is %zu: expected a rising list from 0 to below %zu",
                                i, attrsIdxs[i], count);
    }
    for (size_t i = 0; i < numAttrs; ++i)
        if (Error error = batch.check(attrs[i].srcAccessOrder, attrs[i].flags, attrsIdxs[i]))
            return error;
    for (size_t i = 0, attribute = 0; i < count; ++i) {
        if (attribute + 1 < numAttrs && attrsIdxs[attribute + 1] == i) ++attribute;
        Error error = batch.add(attrs[attribute].srcAccessOrder, [&](CopyPlan *plan) {
            return plan_line(call, dsts[i], srcs[i], sizes[i], infinirtMemcpyDefault, plan);
        });
        if (error != infinirtSuccess) return error;
    }
    return batch.run();
}

Error Memcpy3DBatchAsync(Call &call, size_t numOps, infinirtMemcpy3DBatchOp *opList,
                         size_t *failIdx, unsigned long long flags, Stream &stream) {
    Batch batch(call, stream, failIdx);
    if (Error error = batch.check(numOps, "numOps")) return error;
    if (flags != 0) return call.invalid("flags is 0x%llx: expected 0", flags);
    for (size_t i = 0; i < numOps; ++i)
        if (Error error = batch.check(opList[i].srcAccessOrder, opList[i].flags, i)) return error;
    for (size_t i = 0; i < numOps; ++i) {
        Error error = batch.add(opList[i].srcAccessOrder, [&](CopyPlan *plan) {
            return plan_operands(call, opList[i], plan);
        });
        if (error != infinirtSuccess) return error;
    }
    return batch.run();
}

}  // namespace impl
}  // namespace infini::rt
