// The checks of a copy: kinds of memory against the direction, bounds of allocations, pitches.
#include "across.h"
#include "pool.h"

namespace infini::rt {

namespace {

constexpr Place kPlaces[] = {
    Place::Device,   // MemoryKind::Device
    Place::Device,   // Pool
    Place::Device,   // Graph
    Place::Managed,  // Managed
    Place::Host,     // Pinned
    Place::Host,     // Registered
    Place::Device,   // Imported
};

Error outside(Call &call, const char *name, const void *pointer, size_t bytes,
              const MemoryRange &range) {
    if (!range.device)
        return call.invalid(
            "%s is %p: %zu bytes from there run from host memory into an allocation of the "
            "runtime; expected one or the other",
            name, pointer, bytes);
    if (range.kind == MemoryKind::Pool)
        return call.invalid(
            "%s is %p: expected %zu bytes of one allocation of infinirtMallocAsync that was not "
            "freed",
            name, pointer, bytes);
    return call.invalid(
        "%s is %p: %zu bytes from there leave their allocation of %zu bytes at 0x%zx", name,
        pointer, bytes, range.bytes, static_cast<size_t>(range.base));
}

}  // namespace

bool box_span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice, size_t *span) {
    size_t rows, slices;
    return !__builtin_mul_overflow(height - 1, pitch, &rows) &&
           !__builtin_mul_overflow(depth - 1, slice, &slices) &&
           !__builtin_add_overflow(rows, slices, &rows) &&
           !__builtin_add_overflow(rows, width, span);
}

Error find_operand(Call &call, const char *name, const void *pointer, size_t bytes, int role,
                   Operand *operand) {
    MemoryCache &cache = call.thread.memory;
    const MemoryRange &range = look_up(cache, pointer, role);
    if (!range.contains(pointer, bytes)) [[unlikely]]
        return outside(call, name, pointer, bytes, range);
    operand->device = range.device;
    if (range.device) [[likely]] {
        operand->place = kPlaces[static_cast<size_t>(range.kind)];
        if (range.kind == MemoryKind::Pool && !inside_block(cache, range, pointer, bytes))
            return outside(call, name, pointer, bytes, range);
        return infinirtSuccess;
    }
    operand->place = Place::Pageable;
    if (!pointer) return call.invalid("%s is null: expected %zu bytes", name, bytes);
    if (!probe_host(cache, pointer, bytes, role == 0)) {
        if (find_elsewhere(pointer, operand)) return infinirtSuccess;
        return call.invalid("%s is %p: expected %zu bytes of memory that can be %s", name, pointer,
                            bytes, role == 0 ? "written" : "read");
    }
    return infinirtSuccess;
}

namespace {

constexpr const char *kKinds[] = {"infinirtMemcpyHostToHost", "infinirtMemcpyHostToDevice",
                                  "infinirtMemcpyDeviceToHost", "infinirtMemcpyDeviceToDevice"};

// CUDA's rule: a side that the kind calls device memory must not be plain host memory. All other
// memory known to the runtime has one address for host and device, and is accepted as either.
constexpr bool kDeviceSides[][2] = {
    {false, false},  // infinirtMemcpyHostToHost
    {true, false},   // infinirtMemcpyHostToDevice
    {false, true},   // infinirtMemcpyDeviceToHost
    {true, true},    // infinirtMemcpyDeviceToDevice
    {false, false},  // infinirtMemcpyDefault
};

Error not_of_a_device(Call &call, const char *name, const void *pointer, infinirtMemcpyKind kind) {
    return call.invalid(
        "%s is %p: %s asks for device memory, this is host memory that the runtime did not "
        "allocate, or memory that was freed",
        name, pointer, kKinds[kind]);
}

// Memory of another device type may be mapped for the host, and is then accepted as host memory.
Error check_direction(Call &call, infinirtMemcpyKind kind, CopyPlan *plan) {
    const bool *device = kDeviceSides[kind];
    InfiniCopy &copy = plan->work.as.copy;
    if (device[0] && plan->dst.place == Place::Pageable) [[unlikely]] {
        if (!find_elsewhere(copy.dst, &plan->dst))
            return not_of_a_device(call, "dst", copy.dst, kind);
        copy.dst_device = plan->dst.device_number();
    }
    if (device[1] && plan->src.place == Place::Pageable) [[unlikely]] {
        if (!find_elsewhere(copy.src, &plan->src))
            return not_of_a_device(call, "src", copy.src, kind);
        copy.src_device = plan->src.device_number();
    }
    return infinirtSuccess;
}

Error check_kind(Call &call, infinirtMemcpyKind kind) {
    if (static_cast<unsigned>(kind) <= infinirtMemcpyDefault) [[likely]]
        return infinirtSuccess;
    return call.fail(infinirtErrorInvalidMemcpyDirection,
                     "kind is %d: expected an infinirtMemcpyKind (0 to 4)", static_cast<int>(kind));
}

Error check_pitch(Call &call, const char *name, size_t pitch, size_t width, size_t height) {
    size_t span;
    bool fits = box_span(width, height, 1, pitch, pitch, &span);
    if (pitch >= width && fits) return infinirtSuccess;
    return call.fail(
        height > 1 ? infinirtErrorInvalidPitchValue : infinirtErrorInvalidValue,
        "%s is %zu: expected at least the %zu bytes of a row, and %zu such rows within "
        "the address space",
        name, pitch, width, height);
}

// The same memory as in the last call, and not from a pool: the fast path of most copies.
inline bool quickly(MemoryCache &cache, const void *pointer, size_t bytes, int role,
                    Operand *operand) {
    const MemoryRange &range = cache.last[role];
    if (!range.contains(pointer, bytes) ||
        cache.generation != memory_generation.load(std::memory_order_relaxed))
        return false;
    operand->device = range.device;
    operand->place = kPlaces[static_cast<size_t>(range.kind)];
    if (range.device) return range.kind != MemoryKind::Pool;
    operand->place = Place::Pageable;
    return cache.knows_pages(pointer, bytes, role == 0);
}

Error too_large(Call &call, const char *name, const void *pointer) {
    return call.invalid("%s is %p: the extent from there does not fit into the address space", name,
                        pointer);
}

}  // namespace

Error check_plan(Call &call, infinirtMemcpyKind kind, CopyPlan *plan) {
    InfiniCopy &copy = plan->work.as.copy;
    size_t dst_span, src_span;
    if (!box_span(copy.width, copy.height, copy.depth, copy.dst_pitch, copy.dst_slice, &dst_span))
        return too_large(call, "dst", copy.dst);
    if (!box_span(copy.width, copy.height, copy.depth, copy.src_pitch, copy.src_slice, &src_span))
        return too_large(call, "src", copy.src);
    if (Error error = find_operand(call, "dst", copy.dst, dst_span, 0, &plan->dst)) return error;
    if (Error error = find_operand(call, "src", copy.src, src_span, 1, &plan->src)) return error;
    copy.dst_device = plan->dst.device_number();
    copy.src_device = plan->src.device_number();
    return check_direction(call, kind, plan);
}

Error plan_line(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind,
                CopyPlan *plan) {
    plan->empty = count == 0;
    if (plan->empty) return infinirtSuccess;
    if (Error error = check_kind(call, kind)) return error;
    plan->work.kind = INFINI_WORK_COPY;
    InfiniCopy &copy = plan->work.as.copy;
    copy.dst = dst;
    copy.src = src;
    copy.width = copy.dst_pitch = copy.dst_slice = copy.src_pitch = copy.src_slice = count;
    copy.height = copy.depth = 1;
    bool both = quickly(call.thread.memory, dst, count, 0, &plan->dst) &&
                quickly(call.thread.memory, src, count, 1, &plan->src);
    if (!both) [[unlikely]] {
        if (Error error = find_operand(call, "dst", dst, count, 0, &plan->dst)) return error;
        if (Error error = find_operand(call, "src", src, count, 1, &plan->src)) return error;
    }
    copy.dst_device = plan->dst.device_number();
    copy.src_device = plan->src.device_number();
    return check_direction(call, kind, plan);
}

Error plan_rows(Call &call, void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                size_t height, infinirtMemcpyKind kind, CopyPlan *plan) {
    plan->empty = width == 0 || height == 0;
    if (plan->empty) return infinirtSuccess;
    if (Error error = check_kind(call, kind)) return error;
    if (Error error = check_pitch(call, "dpitch", dpitch, width, height)) return error;
    if (Error error = check_pitch(call, "spitch", spitch, width, height)) return error;
    plan->work.kind = INFINI_WORK_COPY;
    plan->work.as.copy = {.dst = dst,
                          .src = src,
                          .width = width,
                          .height = height,
                          .depth = 1,
                          .dst_pitch = dpitch,
                          .dst_slice = dpitch,
                          .src_pitch = spitch,
                          .src_slice = spitch,
                          .dst_device = -1,
                          .src_device = -1};
    return check_plan(call, kind, plan);
}

namespace {

// One side of a 3-D copy: where its box begins and how far rows and slices are apart. The error
// codes are CUDA's: a pitch or height that is too small for the extent alone is a wrong pitch if
// another row or slice follows.
Error corner(Call &call, const char *name, const infinirtPitchedPtr &memory, const infinirtPos &at,
             const infinirtExtent &extent, uintptr_t *begin, size_t *pitch, size_t *slice) {
    if (!memory.ptr) return call.invalid("%sPtr.ptr is null: expected memory", name);
    bool one_slice = extent.depth == 1, one_row = one_slice && extent.height == 1;
    size_t rows = memory.ysize, end_of_row, end_of_slice;
    *pitch = memory.pitch;
    // A single row at the very beginning needs neither.
    bool lone = one_row && at.y == 0 && at.z == 0;
    if (lone && *pitch == 0) *pitch = extent.width;
    if (lone && rows == 0) rows = 1;
    if (__builtin_add_overflow(at.x, extent.width, &end_of_row) || *pitch < end_of_row)
        return call.fail(*pitch < extent.width && !one_row ? infinirtErrorInvalidPitchValue
                                                           : infinirtErrorInvalidValue,
                         "%sPtr.pitch is %zu: expected at least %sPos.x + extent.width (%zu + %zu)",
                         name, memory.pitch, name, at.x, extent.width);
    if (__builtin_add_overflow(at.y, extent.height, &end_of_slice) || rows < end_of_slice)
        return call.fail(
            rows < extent.height && !one_slice ? infinirtErrorInvalidPitchValue
                                               : infinirtErrorInvalidValue,
            "%sPtr.ysize is %zu: expected at least %sPos.y + extent.height (%zu + %zu)", name,
            memory.ysize, name, at.y, extent.height);
    size_t skipped, skipped_rows;
    *begin = reinterpret_cast<uintptr_t>(memory.ptr);
    if (__builtin_mul_overflow(*pitch, rows, slice) ||
        __builtin_mul_overflow(*slice, at.z, &skipped) ||
        __builtin_mul_overflow(*pitch, at.y, &skipped_rows) ||
        __builtin_add_overflow(skipped, skipped_rows, &skipped) ||
        __builtin_add_overflow(skipped, at.x, &skipped) ||
        __builtin_add_overflow(*begin, skipped, begin))
        return too_large(call, name, memory.ptr);
    return infinirtSuccess;
}

}  // namespace

Error plan_box(Call &call, const infinirtMemcpy3DParms &parameters, CopyPlan *plan) {
    const infinirtExtent &extent = parameters.extent;
    plan->empty = extent.width == 0 || extent.height == 0 || extent.depth == 0;
    if (plan->empty) return infinirtSuccess;
    if (Error error = check_kind(call, parameters.kind)) return error;
    if (parameters.srcArray || parameters.dstArray)
        return call.fail(infinirtErrorNotSupported,
                         "%sArray is set: arrays are not supported, only srcPtr and dstPtr",
                         parameters.srcArray ? "src" : "dst");
    plan->work.kind = INFINI_WORK_COPY;
    InfiniCopy &copy = plan->work.as.copy;
    copy.width = extent.width;
    copy.height = extent.height;
    copy.depth = extent.depth;
    uintptr_t dst, src;
    if (Error error = corner(call, "dst", parameters.dstPtr, parameters.dstPos, extent, &dst,
                             &copy.dst_pitch, &copy.dst_slice))
        return error;
    if (Error error = corner(call, "src", parameters.srcPtr, parameters.srcPos, extent, &src,
                             &copy.src_pitch, &copy.src_slice))
        return error;
    copy.dst = reinterpret_cast<void *>(dst);
    copy.src = reinterpret_cast<const void *>(src);
    return check_plan(call, parameters.kind, plan);
}

namespace {

Error hand_over(Call &call, const CopyPlan &plan, InfiniWork *work, bool *empty) {
    *empty = plan.empty;
    if (plan.empty) return infinirtSuccess;
    if (foreign(call, plan.dst) || foreign(call, plan.src))
        return call.fail(infinirtErrorNotSupported,
                         "%s belongs to another device type: copy it with infinirtMemcpy",
                         foreign(call, plan.dst) ? "dst" : "src");
    *work = plan.work;
    return infinirtSuccess;
}

}  // namespace

Error make_copy(Call &call, const infinirtMemcpy3DParms &parameters, InfiniWork *work,
                bool *empty) {
    CopyPlan plan;
    if (Error error = plan_box(call, parameters, &plan)) return error;
    return hand_over(call, plan, work, empty);
}

Error make_copy(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind,
                InfiniWork *work, bool *empty) {
    CopyPlan plan;
    if (Error error = plan_line(call, dst, src, count, kind, &plan)) return error;
    return hand_over(call, plan, work, empty);
}

}  // namespace infini::rt
