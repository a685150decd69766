// Copies that go through a buffer in between: asynchronous ones from memory that the client may
// change right after the call, and those between devices of different types.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "across.h"
#include "capture.h"

namespace infini::rt {
namespace {

// Up to here a private copy of the source is cheaper than waiting for the stream to read it.
constexpr size_t kSmall = size_t{64} << 10;
// Size of the buffer between two device types.
constexpr size_t kPieceBytes = size_t{8} << 20;

// Packs the source's rows without gaps.
void pack(const InfiniCopy &copy, char *to) {
    for (size_t z = 0; z < copy.depth; ++z) {
        auto *row = static_cast<const char *>(copy.src) + z * copy.src_slice;
        for (size_t y = 0; y < copy.height; ++y, row += copy.src_pitch, to += copy.width)
            memcpy(to, row, copy.width);
    }
}

}  // namespace

Error submit_and_wait(Call &call, const CopyPlan &plan, Stream &stream) {
    if (Error error = submit(call, stream, plan.work)) return error;
    Error error = stream.device.driver().stream_synchronize(stream.device.index, stream.driver);
    return call.driver(error, "waiting for the copy");
}

Error submit_staged(Call &call, const CopyPlan &plan, Stream &stream) {
    const InfiniCopy &copy = plan.work.as.copy;
    // A source on a device cannot be read ahead of the stream.
    if (plan.src.on_device()) return submit_and_wait(call, plan, stream);

    size_t bytes = copy.width * copy.height * copy.depth;
    if (stream.legacy || bytes > kSmall) {
        Device &device = stream.device;
        // No work precedes it, so this waits only for the copy itself.
        if (device.driver().stream_query(device.index, stream.driver) == infinirtSuccess)
            return submit_and_wait(call, plan, stream);
        call.thread.explanation.clear();
    }
    void *buffer = malloc(bytes);
    if (!buffer) return submit_and_wait(call, plan, stream);
    pack(copy, static_cast<char *>(buffer));

    if (stream.legacy)
        if (Error error = check_legacy_use(call, stream.device)) {
            free(buffer);
            return error;
        }
    InfiniWork work[2];
    work[0] = plan.work;
    InfiniCopy &staged = work[0].as.copy;
    staged.src = buffer;
    staged.src_pitch = copy.width;
    staged.src_slice = copy.width * copy.height;
    work[1].kind = INFINI_WORK_HOST;
    work[1].as.host = {free, buffer};
    Error error = submit_now(call, stream, work, 2);
    if (error != infinirtSuccess) free(buffer);
    return error;
}

namespace {

Error run_on(Call &call, Device &device, const InfiniCopy &copy) {
    InfiniWork work;
    work.kind = INFINI_WORK_COPY;
    work.as.copy = copy;
    if (Error error = check_legacy_use(call, device)) return error;
    if (Error error = submit_now(call, *device.legacy, &work, 1)) return error;
    return wait_for_legacy(call, device);
}

// One chunk of a box, at most kPieceBytes: part of a row, or some rows of a slice.
struct Piece {
    size_t x, y, z, width, height;
};

Error copy_piece(Call &call, const CopyPlan &plan, const Piece &piece, char *buffer) {
    InfiniCopy half = plan.work.as.copy;
    size_t to = piece.z * half.dst_slice + piece.y * half.dst_pitch + piece.x;
    size_t from = piece.z * half.src_slice + piece.y * half.src_pitch + piece.x;
    void *dst = static_cast<char *>(half.dst) + to;
    half.width = piece.width;
    half.height = piece.height;
    half.depth = 1;

    InfiniCopy in = half;
    in.src = static_cast<const char *>(half.src) + from;
    in.dst = buffer;
    in.dst_pitch = in.dst_slice = piece.width;
    in.dst_device = -1;
    if (Error error = run_on(call, *plan.src.device, in)) return error;

    half.src = buffer;
    half.dst = dst;
    half.src_pitch = half.src_slice = piece.width;
    half.src_device = -1;
    return run_on(call, *plan.dst.device, half);
}

}  // namespace

Error copy_foreign(Call &call, const CopyPlan &plan) {
    const InfiniCopy &copy = plan.work.as.copy;
    bool one_kind = !plan.dst.on_device() || !plan.src.on_device() ||
                    &plan.dst.device->backend == &plan.src.device->backend;
    if (one_kind)
        return run_on(call, plan.dst.on_device() ? *plan.dst.device : *plan.src.device, copy);
    // Host-accessible memory is host memory to the other device, once work on it has finished.
    if (is_host(*plan.dst.device) || is_host(*plan.src.device)) {
        bool to_host = is_host(*plan.dst.device);
        InfiniCopy direct = copy;
        (to_host ? direct.dst_device : direct.src_device) = -1;
        if (Error error = wait_for_legacy(call, to_host ? *plan.dst.device : *plan.src.device))
            return error;
        return run_on(call, to_host ? *plan.src.device : *plan.dst.device, direct);
    }

    size_t width = std::min(copy.width, kPieceBytes);
    size_t height = std::min(copy.height, std::max<size_t>(1, kPieceBytes / width));
    std::unique_ptr<char, decltype(&free)> buffer(static_cast<char *>(malloc(width * height)),
                                                  free);
    if (!buffer)
        return call.fail(infinirtErrorMemoryAllocation,
                         "no host memory (%zu bytes) to copy through between device types",
                         width * height);
    for (size_t z = 0; z < copy.depth; ++z)
        for (size_t y = 0; y < copy.height; y += height)
            for (size_t x = 0; x < copy.width; x += width) {
                Piece piece{x, y, z, std::min(width, copy.width - x),
                            std::min(height, copy.height - y)};
                if (Error error = copy_piece(call, plan, piece, buffer.get())) return error;
            }
    return infinirtSuccess;
}

}  // namespace infini::rt
