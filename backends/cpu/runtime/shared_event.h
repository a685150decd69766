// The state of an interprocess event (infinirtEventInterprocess): one page of shared memory.
//
// There are no callbacks between processes, so waiting for such an event takes a thread: a stream
// that waits for it is treated like one that runs a host function.
#pragma once

#include <atomic>
#include <cstdint>

#include "error.h"
#include "ipc.h"

namespace infini::cpu {

class SharedEvent {
public:
    static Error create(SharedEvent **event);
    static Error import(const infinirtIpcEventHandle_t &handle, SharedEvent **event);
    void export_to(infinirtIpcEventHandle_t *handle) const;

    void hold() { references_.fetch_add(1, std::memory_order_relaxed); }
    void drop();

    uint64_t record();               // a new record, not complete yet; returns its number
    void complete(uint64_t number);  // that record
    uint64_t last_record() const;    // 0: never recorded
    bool complete_at(uint64_t number) const;
    // The same, but the record of a process that died, which will never complete, counts as
    // complete.
    bool complete_or_abandoned(uint64_t number);
    void wait(uint64_t number, int64_t spin_ns);

private:
    struct Record {
        std::atomic<uint64_t> completed;  // the highest complete number in this slot
        std::atomic<int32_t> recorder;    // the process that will complete the latest
    };
    static constexpr size_t kRecords = 252;
    struct Page {
        std::atomic<uint64_t> recorded;  // number of the last record
        std::atomic<uint32_t>
            changes;  // counts completions; the futex of sleepers in all processes
        std::atomic<uint32_t> sleepers;
        Record records[kRecords];  // record n is at n % kRecords
    };
    static_assert(sizeof(Page) <= 4096);
    static_assert(std::atomic<uint64_t>::is_always_lock_free);

    SharedEvent(const IpcHandle &handle, Page *page) : handle_(handle), page_(page) {}
    ~SharedEvent();
    static Error map(const IpcHandle &handle, int fd, SharedEvent **event);

    std::atomic<uint32_t> references_{1};
    IpcHandle handle_;  // as exported
    int fd_ = -1;       // kept open by the exporter alone
    Page *const page_;
};

}  // namespace infini::cpu
