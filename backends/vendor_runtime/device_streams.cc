// The streams of a device, and the ordering rules of the legacy default stream.
#include "stream.h"

namespace infini::vendor_runtime {

Device &device_of(int number) {
    static std::mutex lock;
    static auto &all = *new std::vector<std::unique_ptr<Device>>;
    std::lock_guard guard(lock);
    while (int(all.size()) <= number) {
        all.push_back(std::make_unique<Device>());
        all.back()->number = int(all.size()) - 1;
    }
    return *all[size_t(number)];
}

StreamPointer Device::find(void *handle) {
    if (handle) return *static_cast<StreamPointer *>(handle);
    std::lock_guard guard(lock);
    if (!legacy) {
        auto made = std::make_shared<Stream>(*this, true);
        if (made->create() != infinirtSuccess) return nullptr;
        legacy = made;
    }
    return legacy;
}

void Device::order(const StreamPointer &stream) {
    if (stream == legacy) {
        for (const StreamPointer &other : streams) {
            if (!other->blocking || !other->dirty) continue;
            other->dirty = false;
            RecordPointer mark = other->last_record;
            if (!mark) {
                mark = std::make_shared<Record>(*this, false);
                other->enqueue(bare(INFINI_WORK_RECORD, mark));
            }
            stream->enqueue(bare(INFINI_WORK_WAIT, mark));
        }
        ++legacy_submissions;
        legacy_record = nullptr;
    } else if (stream->blocking) {
        stream->dirty = true;
        if (!legacy || stream->seen_legacy == legacy_submissions) return;
        stream->seen_legacy = legacy_submissions;
        if (!legacy_record) {
            legacy_record = std::make_shared<Record>(*this, false);
            legacy->enqueue(bare(INFINI_WORK_RECORD, legacy_record));
        }
        stream->enqueue(bare(INFINI_WORK_WAIT, legacy_record));
    }
}

Error Device::submit(const StreamPointer &stream, const InfiniWork *work, size_t count) {
    OnDevice here(number);
    std::lock_guard guard(lock);
    if (Error error = stream->take_failure()) return error;
    order(stream);
    for (size_t i = 0; i < count; ++i) {
        Item item{work[i], nullptr, nullptr, {}, {}, nullptr};
        if (work[i].kind == INFINI_WORK_RECORD) {
            auto &event = *static_cast<Event *>(work[i].as.event);
            item.record = std::make_shared<Record>(*this, event.timed);
            std::lock_guard event_guard(event.lock);
            event.last = item.record;
        } else if (work[i].kind == INFINI_WORK_WAIT) {
            item.record = static_cast<Event *>(work[i].as.event)->get();
        } else if (work[i].kind == INFINI_WORK_KERNEL) {
            const InfiniArguments &given = *work[i].as.kernel.arguments;
            item.plan = hold(work[i].as.kernel.plan);
            item.pointers.assign(given.pointers, given.pointers + given.pointer_count);
            item.scalars.assign(given.scalars, given.scalars + given.scalar_count);
            item.workspace = given.workspace;
        } else if (work[i].kind > INFINI_WORK_KERNEL) {
            return explain(infinirtErrorNotSupported,
                           "this back end is older than a kind of work that was submitted");
        }
        stream->enqueue(std::move(item));
    }
    // An error that the vendor reports immediately is this call's error.
    return stream->accepted == stream->performed ? stream->take_failure() : infinirtSuccess;
}

}  // namespace infini::vendor_runtime
