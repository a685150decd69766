// Streams over a vendor's streams.
//
// Work that the vendor supports is enqueued directly in its stream. A host function, a program
// that the plain engine evaluates, or a copy from memory that is not pinned is *deferred*: a worker
// thread of the stream waits for the vendor's stream and does it. While such work is pending, all
// that is submitted behind it is deferred too, so the order is kept. No function of a vendor for
// host callbacks is needed, and a host function may block for as long as it likes.
//
// Ownership: the core's handle and the device hold a stream; its worker holds it until the work in
// it is done. A record holds the vendor's event and gives it back to the device's pool. Nothing is
// ever destroyed at exit: vendor's threads may still be at work.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "library.h"
#include "plan.h"

namespace infini::vendor_runtime {

struct Device;
struct Stream;

// One record of an event. An event that is recorded again gets a new one, so vendors' rules about
// recording an event twice do not matter.
struct Record {
    enum State { kSubmitted, kIssued, kDone };

    Record(Device &device, bool timed) : device(device), timed(timed) {}
    ~Record();
    void reach(State state);
    State state();
    void wait_issued();
    Error wait_done();
    Error query();

    Device &device;
    const bool timed;
    void *handle = nullptr;  // the vendor's event, once it was issued
    double seconds = 0;      // host clock, where the vendor's events measure no time

private:
    State state_ = kSubmitted;
};
using RecordPointer = std::shared_ptr<Record>;

struct Event {
    Device &device;
    const bool timed;
    std::mutex lock;
    RecordPointer last;

    RecordPointer get() {
        std::lock_guard guard(lock);
        return last;
    }
};

struct Item {
    InfiniWork work;
    RecordPointer record;  // RECORD, WAIT
    // KERNEL: arguments, kept.
    std::shared_ptr<InfiniPlan> plan;
    std::vector<void *> pointers;
    std::vector<InfiniScalar> scalars;
    void *workspace = nullptr;
};

// A RECORD or WAIT of the back end's own.
Item bare(InfiniWorkKind kind, RecordPointer record);

struct Stream : std::enable_shared_from_this<Stream> {
    Stream(Device &device, bool blocking) : device(device), blocking(blocking) {}

    Device &device;
    const bool blocking;
    void *handle = nullptr;

    // The rest is guarded by the device's lock.
    std::deque<Item> deferred;
    uint64_t accepted = 0, performed = 0;  // deferred items
    uint64_t submitted = 0;                // all items
    RecordPointer asked;                   // of a query, behind all that was submitted
    bool has_worker = false, ending = false, idle = true;
    bool dirty = false;         // has work that the legacy stream has not waited for
    RecordPointer last_record;  // of its end, for the legacy stream
    int users = 0;              // that call the vendor with its handle
    uint64_t seen_legacy = 0;   // up to which of the legacy stream's submissions it waits
    Error failure = infinirtSuccess;
    std::string reason;

    Error create();
    void enqueue(Item item);
    Error synchronize();
    Error query();
    void end();
    // The first failure since the last query.
    Error take_failure();

private:
    bool is_direct(const Item &item) const;
    Error issue(const Item &item);    // in the vendor's stream
    Error perform(const Item &item);  // by the worker
    void note(Error error);
    void start_worker();
    void work();
    Error wait_for_vendor();
};
using StreamPointer = std::shared_ptr<Stream>;

struct Device {
    int number = 0;
    std::mutex lock;
    std::condition_variable changed;
    StreamPointer legacy;
    std::vector<StreamPointer> streams;  // all but the legacy one, until their work is done
    uint64_t legacy_submissions = 0;
    RecordPointer legacy_record;  // of the last submission

    StreamPointer find(void *handle);
    Error submit(const StreamPointer &stream, const InfiniWork *work, size_t count);
    // Orders the stream's next work after the work that its kind must wait for. Called with the
    // lock held.
    void order(const StreamPointer &stream);

    void *take_event(bool timed);
    void give_event(void *event, bool timed);

private:
    std::mutex events_lock_;
    std::vector<void *> events_[2];
};

Device &device_of(int number);

// Whether all of it is in pinned memory allocated by the back end.
bool is_pinned(const void *memory, size_t bytes);
// Fills have no device: their memory may be on a device or the host.
bool is_on_device(const void *memory);
Error device_allocate(int device, size_t bytes, void **memory);
Error device_release(int device, void *memory);
Error pin_allocate(size_t bytes, void **memory);
Error pin_release(void *memory);

// Blocks the calling thread, by whatever function the vendor has.
Error copy_now(const InfiniCopy &copy);
Error copy_bytes(void *dst, int dst_device, const void *src, int src_device, size_t bytes);

}  // namespace infini::vendor_runtime
