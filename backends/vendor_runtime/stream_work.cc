// How an item of a stream runs: by the vendor in its stream, or by the worker.
#include <chrono>
#include <new>

#include "stream.h"

namespace infini::vendor_runtime {
namespace {

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// No exception may leave it: there is no caller in the stream's worker.
Error run_plan(const Item &item, void *stream) {
    const InfiniArguments arguments{item.pointers.data(), item.scalars.data(), item.pointers.size(),
                                    item.scalars.size(), item.workspace};
    const char *called = "";
    try {
        if (!item.plan->library)
            return item.plan->run_on_host(item.pointers.data(), item.pointers.size(),
                                          item.scalars.data(), item.scalars.size());
        const int code = item.plan->library->run(stream, {arguments}, &called);
        if (code == kExplained) return explain(last_error(), called + (": " + last_sentence()));
        return code == 0 ? infinirtSuccess : fail_call(code, called);
    } catch (const Refusal &refusal) {
        return explain(infinirtErrorUnknown, refusal.sentence);
    } catch (const std::bad_alloc &) {
        return explain(infinirtErrorMemoryAllocation,
                       "running an operator: there is not enough memory on the host");
    }
}

}  // namespace

bool Stream::is_direct(const Item &item) const {
    const InfiniWork &work = item.work;
    switch (work.kind) {
        case INFINI_WORK_COPY: {
            const InfiniCopy &copy = work.as.copy;
            const bool peers =
                copy.dst_device >= 0 && copy.src_device >= 0 && copy.dst_device != copy.src_device;
            if (peers) return false;
            if (!has(Word::kMemcpyAsync) || (copy.dst_device < 0 && copy.src_device < 0))
                return false;
            auto extent = [&](size_t pitch, size_t slice) {
                return (copy.depth - 1) * slice + (copy.height - 1) * pitch + copy.width;
            };
            return (copy.dst_device >= 0 ||
                    is_pinned(copy.dst, extent(copy.dst_pitch, copy.dst_slice))) &&
                   (copy.src_device >= 0 ||
                    is_pinned(copy.src, extent(copy.src_pitch, copy.src_slice)));
        }
        case INFINI_WORK_FILL:
            return work.as.fill.element == 1 && has(Word::kMemsetAsync) &&
                   is_on_device(work.as.fill.dst);
        case INFINI_WORK_RECORD:
            return has(Word::kEventQuery) && (has(Word::kEventElapsedTime) || !item.record->timed);
        case INFINI_WORK_WAIT:
            return !item.record || item.record->state() == Record::kDone ||
                   (item.record->state() == Record::kIssued && &item.record->device == &device);
        case INFINI_WORK_KERNEL:
            return item.plan->library && !item.plan->library->reads_memory;
        default:
            return false;
    }
}

Error Stream::issue(const Item &item) {
    Values values;
    values.stream = handle;
    const InfiniWork &work = item.work;
    if (work.kind == INFINI_WORK_COPY) {
        const InfiniCopy &copy = work.as.copy;
        values.direction = copy.dst_device < 0   ? vendor.directions.device_to_host
                           : copy.src_device < 0 ? vendor.directions.host_to_device
                                                 : vendor.directions.device_to_device;
        const bool lines =
            (copy.height > 1 && (copy.dst_pitch != copy.width || copy.src_pitch != copy.width)) ||
            copy.depth > 1;
        values.bytes = lines ? copy.width : copy.width * copy.height;
        for (size_t z = 0; z < copy.depth; ++z)
            for (size_t y = 0; y < (lines ? copy.height : 1); ++y) {
                values.dst =
                    static_cast<char *>(copy.dst) + z * copy.dst_slice + y * copy.dst_pitch;
                values.src =
                    static_cast<const char *>(copy.src) + z * copy.src_slice + y * copy.src_pitch;
                if (Error error = check(Word::kMemcpyAsync, values)) return error;
            }
    } else if (work.kind == INFINI_WORK_FILL) {
        const InfiniFill &fill = work.as.fill;
        values.bytes = fill.width;
        values.value = int(fill.value & 0xff);
        for (size_t z = 0; z < fill.depth; ++z)
            for (size_t y = 0; y < fill.height; ++y) {
                values.dst = static_cast<char *>(fill.dst) + z * fill.slice + y * fill.pitch;
                if (Error error = check(Word::kMemsetAsync, values)) return error;
            }
    } else if (work.kind == INFINI_WORK_RECORD) {
        item.record->handle = values.event = device.take_event(item.record->timed);
        if (!values.event) return infinirtErrorMemoryAllocation;
        if (Error error = check(Word::kEventRecord, values)) return error;
        item.record->reach(Record::kIssued);
    } else if (work.kind == INFINI_WORK_WAIT) {
        if (!item.record || item.record->state() == Record::kDone) return infinirtSuccess;
        values.event = item.record->handle;
        return check(Word::kStreamWaitEvent, values);
    } else if (work.kind == INFINI_WORK_KERNEL) {
        return run_plan(item, handle);
    }
    return infinirtSuccess;
}

Error Stream::wait_for_vendor() {
    Values values;
    values.stream = handle;
    return check(Word::kStreamSynchronize, values);
}

Error Stream::perform(const Item &item) {
    OnDevice here(device.number);
    const InfiniWork &work = item.work;
    if (work.kind == INFINI_WORK_WAIT && item.record) {
        item.record->wait_issued();
        // Not every vendor's streams can wait for events of other devices.
        if (&item.record->device != &device) return item.record->wait_done();
    }
    if (is_direct(item)) return issue(item);
    if (Error error = wait_for_vendor()) return error;
    if (work.kind == INFINI_WORK_HOST) {
        work.as.host.function(work.as.host.data);
    } else if (work.kind == INFINI_WORK_COPY) {
        return copy_now(work.as.copy);
    } else if (work.kind == INFINI_WORK_RECORD) {
        item.record->seconds = now();
        item.record->reach(Record::kDone);
    } else if (work.kind == INFINI_WORK_KERNEL) {
        return run_plan(item, handle);
    } else if (work.kind == INFINI_WORK_FILL) {
        const InfiniFill &fill = work.as.fill;
        const int where = is_on_device(fill.dst) ? device.number : -1;
        std::vector<char> row(fill.width * fill.element);
        for (size_t i = 0; i < row.size(); ++i)
            row[i] = char(fill.value >> (8 * (i % fill.element)));
        for (size_t z = 0; z < fill.depth; ++z)
            for (size_t y = 0; y < fill.height; ++y)
                if (Error error =
                        copy_bytes(static_cast<char *>(fill.dst) + z * fill.slice + y * fill.pitch,
                                   where, row.data(), -1, row.size()))
                    return error;
    }
    return infinirtSuccess;
}

}  // namespace infini::vendor_runtime
