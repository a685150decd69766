// Copies: a plan is checked once and then run, in a stream or synchronously.
#pragma once

#include "memory.h"
#include "stream.h"

namespace infini::rt {

// The kind of memory an operand is in.
enum class Place : uint8_t {
    Pageable,  // host memory that the runtime does not know
    Host,      // pinned or registered
    Managed,
    Device,
};

struct Operand {
    Device *device = nullptr;  // null for Pageable
    Place place = Place::Pageable;

    bool as_device() const { return place != Place::Pageable; }
    bool on_device() const { return place >= Place::Managed; }
    int device_number() const { return on_device() ? device->index : -1; }  // as in InfiniCopy
};

// Classifies `bytes` at `pointer`, which must be in one allocation, or be accessible host memory.
Error find_operand(Call &call, const char *name, const void *pointer, size_t bytes, int role,
                   Operand *operand);

// Bytes from the start to the end of a box; false if that overflows.
bool box_span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice, size_t *span);

struct CopyPlan {
    InfiniWork work;
    Operand dst, src;
    bool empty = false;  // no bytes: nothing else is set, and there is nothing to do
};

// Checks work.as.copy, which is set except for the device numbers, and completes the plan.
Error check_plan(Call &call, infinirtMemcpyKind kind, CopyPlan *plan);
Error plan_line(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind,
                CopyPlan *plan);
Error plan_rows(Call &call, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                size_t height, infinirtMemcpyKind kind, CopyPlan *plan);
Error plan_box(Call &call, const infinirtMemcpy3DParms &parameters, CopyPlan *plan);

// Runs in the current device's legacy stream and waits where CUDA does: always, unless both sides
// are device memory.
Error run_copy(Call &call, const CopyPlan &plan);
// Runs in the stream, or becomes a node of its capture. Pageable source memory may be modified as
// soon as this returns; with `read_now`, any host source.
Error run_copy(Call &call, const CopyPlan &plan, Stream &stream, bool read_now = false);

// Does the operand belong to another device type than the calling thread's?
inline bool foreign(const Call &call, const Operand &operand) {
    return operand.on_device() && &operand.device->backend != call.thread.backend;
}
// A synchronous copy from or to devices of types other than the calling thread's.
Error copy_foreign(Call &call, const CopyPlan &plan);
Error submit_and_wait(Call &call, const CopyPlan &plan, Stream &stream);
// An asynchronous copy whose source is read before this returns.
Error submit_staged(Call &call, const CopyPlan &plan, Stream &stream);

// Waits for the device's legacy stream.
Error wait_for_legacy(Call &call, Device &device);

}  // namespace infini::rt
