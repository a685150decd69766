// Memset and its 2-D, 3-D and asynchronous forms.
#include "capture.h"
#include "copy.h"
#include "impl.h"

namespace infini::rt {
namespace {

struct FillPlan {
    InfiniWork work;
    Operand dst;
    bool empty = false;
};

// Checks a box of `width` elements x height x depth. Empty boxes were handled before.
Error check_fill(Call &call, const char *name, FillPlan *plan) {
    InfiniFill &fill = plan->work.as.fill;
    size_t row, span;
    if (__builtin_mul_overflow(fill.width, fill.element, &row) ||
        (fill.height > 1 && fill.pitch < row))
        return call.invalid("pitch is %zu: expected at least the %zu elements of %u bytes in a row",
                            fill.pitch, fill.width, fill.element);
    if (!box_span(row, fill.height, fill.depth, fill.pitch, fill.slice, &span))
        return call.invalid("%s is %p: the extent from there does not fit into the address space",
                            name, fill.dst);
    if (Error error = find_operand(call, name, fill.dst, span, 0, &plan->dst)) return error;
    if (!plan->dst.as_device())
        return call.invalid(
            "%s is %p: expected device, managed or pinned memory that was not freed", name,
            fill.dst);
    return infinirtSuccess;
}

Error plan_fill(Call &call, const infinirtPitchedPtr &memory, int value,
                const infinirtExtent &extent, FillPlan *plan) {
    plan->empty = extent.width == 0 || extent.height == 0 || extent.depth == 0;
    if (plan->empty) return infinirtSuccess;
    plan->work.kind = INFINI_WORK_FILL;
    InfiniFill &fill = plan->work.as.fill;
    fill.dst = memory.ptr;
    fill.value = static_cast<unsigned char>(value);
    fill.element = 1;
    fill.width = extent.width;
    fill.height = extent.height;
    fill.depth = extent.depth;
    fill.pitch = memory.pitch;
    fill.slice = 0;
    if (extent.depth > 1) {
        if (memory.pitch < extent.width || memory.ysize < extent.height ||
            __builtin_mul_overflow(memory.pitch, memory.ysize, &fill.slice))
            return call.invalid(
                "pitchedDevPtr has pitch %zu and ysize %zu: expected at least the extent's %zu "
                "bytes x %zu rows",
                memory.pitch, memory.ysize, extent.width, extent.height);
    }
    return check_fill(call, "devPtr", plan);
}

Error run_fill(Call &call, const FillPlan &plan) {
    // Memory of another device type is filled by that device.
    Device &device = foreign(call, plan.dst) ? *plan.dst.device : call.device();
    if (captures_in_progress.load(std::memory_order_acquire)) [[unlikely]] {
        if (Error error = check_legacy_use(call, device)) return error;
    }
    if (Error error = submit_now(call, *device.legacy, &plan.work, 1)) return error;
    // As in CUDA, the host does not wait for a fill of device memory.
    return plan.dst.place == Place::Device ? infinirtSuccess : wait_for_legacy(call, device);
}

Error run_fill(Call &call, const FillPlan &plan, Stream &stream) {
    if (foreign(call, plan.dst))
        return call.fail(infinirtErrorNotSupported,
                         "the memory belongs to another device type than the stream: use "
                         "infinirtMemset");
    return submit(call, stream, plan.work);
}

infinirtPitchedPtr line(void *pointer, size_t count) { return {pointer, count, count, 1}; }

}  // namespace

Error make_fill(Call &call, const infinirtMemsetParams &parameters, InfiniWork *work, bool *empty) {
    *empty = parameters.width == 0 || parameters.height == 0;
    unsigned element = parameters.elementSize;
    if (element != 1 && element != 2 && element != 4)
        return call.invalid("elementSize is %u: expected 1, 2 or 4", element);
    if (*empty) return infinirtSuccess;
    if (reinterpret_cast<uintptr_t>(parameters.dst) % element != 0 ||
        (parameters.height > 1 && parameters.pitch % element != 0))
        return call.invalid("dst is %p with pitch %zu: expected multiples of elementSize, %u",
                            parameters.dst, parameters.pitch, element);
    FillPlan plan;
    plan.work.kind = INFINI_WORK_FILL;
    plan.work.as.fill = {.dst = parameters.dst,
                         .value = parameters.value,
                         .element = element,
                         .width = parameters.width,
                         .height = parameters.height,
                         .depth = 1,
                         .pitch = parameters.pitch,
                         .slice = 0};
    if (Error error = check_fill(call, "dst", &plan)) return error;
    if (foreign(call, plan.dst))
        return call.fail(infinirtErrorNotSupported,
                         "dst belongs to another device type: fill it with infinirtMemset");
    *work = plan.work;
    return infinirtSuccess;
}

namespace impl {

Error Memset3D(Call &call, infinirtPitchedPtr pitchedDevPtr, int value, infinirtExtent extent) {
    FillPlan plan;
    if (Error error = plan_fill(call, pitchedDevPtr, value, extent, &plan)) return error;
    return plan.empty ? infinirtSuccess : run_fill(call, plan);
}

Error Memset3DAsync(Call &call, infinirtPitchedPtr pitchedDevPtr, int value, infinirtExtent extent,
                    Stream &stream) {
    FillPlan plan;
    if (Error error = plan_fill(call, pitchedDevPtr, value, extent, &plan)) return error;
    return plan.empty ? infinirtSuccess : run_fill(call, plan, stream);
}

Error Memset(Call &call, void *devPtr, int value, size_t count) {
    return Memset3D(call, line(devPtr, count), value, {count, 1, 1});
}

Error MemsetAsync(Call &call, void *devPtr, int value, size_t count, Stream &stream) {
    return Memset3DAsync(call, line(devPtr, count), value, {count, 1, 1}, stream);
}

Error Memset2D(Call &call, void *devPtr, size_t pitch, int value, size_t width, size_t height) {
    return Memset3D(call, {devPtr, pitch, width, height}, value, {width, height, 1});
}

Error Memset2DAsync(Call &call, void *devPtr, size_t pitch, int value, size_t width, size_t height,
                    Stream &stream) {
    return Memset3DAsync(call, {devPtr, pitch, width, height}, value, {width, height, 1}, stream);
}

}  // namespace impl
}  // namespace infini::rt
