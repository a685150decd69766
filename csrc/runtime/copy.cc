// Memcpy and its 2-D, 3-D and asynchronous forms.
#include "copy.h"

#include "across.h"
#include "capture.h"
#include "impl.h"

namespace infini::rt {

Error wait_for_legacy(Call &call, Device &device) {
    Error error = device.driver().stream_synchronize(device.index, nullptr);
    if (error == infinirtSuccess) [[likely]]
        return error;
    return call.driver(error, "waiting for the copy");
}

Error run_copy(Call &call, const CopyPlan &plan) {
    Device &device = call.device();
    if (captures_in_progress.load(std::memory_order_relaxed)) [[unlikely]] {
        if (Error error = check_legacy_use(call, device)) return error;
    }
    if (foreign(call, plan.dst) || foreign(call, plan.src)) [[unlikely]]
        return copy_foreign(call, plan);
    if (Error error = submit_now(call, *device.legacy, &plan.work, 1)) return error;
    if (plan.dst.place == Place::Device && plan.src.place == Place::Device) return infinirtSuccess;
    return wait_for_legacy(call, device);
}

Error run_copy(Call &call, const CopyPlan &plan, Stream &stream, bool read_now) {
    if (foreign(call, plan.dst) || foreign(call, plan.src)) return copy_across(call, plan, stream);
    // A graph does this when it runs.
    if (stream.capture.load(std::memory_order_acquire)) return submit(call, stream, plan.work);
    // As in CUDA, copies between host memory and to pageable memory are waited for.
    bool to_host = plan.dst.place <= Place::Host;
    if (plan.dst.place == Place::Pageable || (to_host && plan.src.place <= Place::Host))
        return submit_and_wait(call, plan, stream);
    if (plan.src.place == Place::Pageable || read_now) return submit_staged(call, plan, stream);
    return submit(call, stream, plan.work);
}

namespace impl {

Error Memcpy(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind) {
    CopyPlan plan;
    if (Error error = plan_line(call, dst, src, count, kind, &plan)) return error;
    return plan.empty ? infinirtSuccess : run_copy(call, plan);
}

Error MemcpyAsync(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind,
                  Stream &stream) {
    CopyPlan plan;
    if (Error error = plan_line(call, dst, src, count, kind, &plan)) return error;
    return plan.empty ? infinirtSuccess : run_copy(call, plan, stream);
}

Error Memcpy2D(Call &call, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
               size_t height, infinirtMemcpyKind kind) {
    CopyPlan plan;
    if (Error error = plan_rows(call, dst, dpitch, src, spitch, width, height, kind, &plan))
        return error;
    return plan.empty ? infinirtSuccess : run_copy(call, plan);
}

Error Memcpy2DAsync(Call &call, void *dst, size_t dpitch, const void *src, size_t spitch,
                    size_t width, size_t height, infinirtMemcpyKind kind, Stream &stream) {
    CopyPlan plan;
    if (Error error = plan_rows(call, dst, dpitch, src, spitch, width, height, kind, &plan))
        return error;
    return plan.empty ? infinirtSuccess : run_copy(call, plan, stream);
}

Error Memcpy3D(Call &call, const infinirtMemcpy3DParms *p) {
    CopyPlan plan;
    if (Error error = plan_box(call, *p, &plan)) return error;
    return plan.empty ? infinirtSuccess : run_copy(call, plan);
}

Error Memcpy3DAsync(Call &call, const infinirtMemcpy3DParms *p, Stream &stream) {
    CopyPlan plan;
    if (Error error = plan_box(call, *p, &plan)) return error;
    return plan.empty ? infinirtSuccess : run_copy(call, plan, stream);
}

}  // namespace impl
}  // namespace infini::rt
