#include "core.h"

#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace simulated {
namespace {

struct Block {
    char *bytes;
    size_t size;
    int device;
    bool live;
};

struct Mark {  // of one record
    bool done = false;
    std::chrono::steady_clock::time_point time;
};

struct Event {
    bool timed;
    std::shared_ptr<Mark> mark;
};

struct Stream {
    int device;
    std::deque<Work> queue;
    uint64_t accepted = 0, done = 0;
    int code = 0;
    bool closed = false;
};
using StreamPointer = std::shared_ptr<Stream>;

struct Fault {
    int code, after;
};

// One lock for all: a model of hardware, not a fast one. Leaked: threads outlive main().
struct World {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<const char *, Block> memory;  // by device address
    std::map<const char *, size_t> pinned;
    std::map<int, size_t> used;
    std::map<void *, StreamPointer> streams;
    std::map<int, StreamPointer> defaults;
    std::map<void *, std::unique_ptr<Event>> events;
    std::map<std::string, long> calls;
    std::map<std::string, Fault> faults;
    long violations = 0;
};
World &world() {
    static auto *all = new World;
    return *all;
}

thread_local int thread_device = -1;
thread_local const char *thread_function = "";

void serve(StreamPointer stream) {
    World &all = world();
    thread_device = stream->device;
    std::unique_lock lock(all.mutex);
    for (;;) {
        all.changed.wait(lock, [&] { return !stream->queue.empty() || stream->closed; });
        if (stream->queue.empty()) return;
        Work work = std::move(stream->queue.front());
        stream->queue.pop_front();
        lock.unlock();
        const int code = work();
        work = nullptr;
        lock.lock();
        if (code && !stream->code) stream->code = code;
        ++stream->done;
        all.changed.notify_all();
    }
}

StreamPointer start(int device) {
    auto stream = std::make_shared<Stream>();
    stream->device = device;
    std::thread(serve, stream).detach();
    return stream;
}

StreamPointer find_stream(void *handle) {  // the lock is held
    if (!handle) {
        StreamPointer &stream = world().defaults[thread_device];
        if (!stream) stream = start(thread_device);
        return stream;
    }
    auto found = world().streams.find(handle);
    return found == world().streams.end() ? nullptr : found->second;
}

Event *find_event(void *handle) {
    auto found = world().events.find(handle);
    return found == world().events.end() ? nullptr : found->second.get();
}

bool refuse(const char *what) {
    violate(std::string(what) + " that is not live");
    return false;
}

// The allocation that contains an address; the lock is held.
std::pair<const char *const, Block> *block_of(const void *memory) {
    auto next = world().memory.upper_bound(static_cast<const char *>(memory));
    if (next == world().memory.begin()) return nullptr;
    auto &found = *std::prev(next);
    return static_cast<const char *>(memory) < found.first + found.second.size ? &found : nullptr;
}

}  // namespace

// ---- Calls --------------------------------------------------------------------------------------

int begin(const char *function) {
    thread_function = function;
    std::lock_guard lock(world().mutex);
    ++world().calls[function];
    auto fault = world().faults.find(function);
    if (fault == world().faults.end()) return 0;
    if (fault->second.after-- > 0) return 0;
    const int code = fault->second.code;
    world().faults.erase(fault);
    return code;
}

const char *current() { return thread_function; }

void violate(const std::string &what) {
    fprintf(stderr, "simulated accelerator: %s: %s\n", thread_function, what.c_str());
    ++world().violations;
}

extern "C" SIMULATED void simulated_fail(const char *function, int code, int after) {
    std::lock_guard lock(world().mutex);
    world().faults[function] = {code, after};
}
extern "C" SIMULATED long simulated_calls(const char *function) {
    std::lock_guard lock(world().mutex);
    auto found = world().calls.find(function);
    return found == world().calls.end() ? 0 : found->second;
}
extern "C" SIMULATED long simulated_violations() { return world().violations; }

// ---- Devices ------------------------------------------------------------------------------------

int device_count() {
    const char *text = getenv("INFINI_SIM_DEVICES");
    return text && *text ? atoi(text) : 2;
}

int &device() { return thread_device; }

size_t used(int device) {
    std::lock_guard lock(world().mutex);
    return world().used[device];
}

// ---- Memory -------------------------------------------------------------------------------------

void *allocate(int device, size_t bytes) {
    std::lock_guard lock(world().mutex);
    if (bytes > kMemory - world().used[device]) return nullptr;
    void *address =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto *content = static_cast<char *>(malloc(bytes));
    if (address == MAP_FAILED || !content) return nullptr;
    memset(content, 0xa5, bytes < 65536 ? bytes : 65536);
    world().memory[static_cast<char *>(address)] = {content, bytes, device, true};
    world().used[device] += bytes;
    return address;
}

bool release(void *memory) {
    std::lock_guard lock(world().mutex);
    auto found = world().memory.find(static_cast<char *>(memory));
    if (found == world().memory.end() || !found->second.live) return refuse("memory");
    free(found->second.bytes);
    world().used[found->second.device] -= found->second.size;
    munmap(memory, found->second.size);
    world().memory.erase(found);
    return true;
}

void *pin(size_t bytes) {
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    std::lock_guard lock(world().mutex);
    if (memory) world().pinned[static_cast<char *>(memory)] = bytes;
    return memory;
}

bool unpin(void *memory) {
    std::lock_guard lock(world().mutex);
    if (!world().pinned.erase(static_cast<char *>(memory))) return refuse("pinned memory");
    free(memory);
    return true;
}

bool is_pinned(const void *memory, size_t bytes) {
    std::lock_guard lock(world().mutex);
    auto *first = static_cast<const char *>(memory);
    auto next = world().pinned.upper_bound(first);
    if (next == world().pinned.begin()) return false;
    auto [base, size] = *std::prev(next);
    return first + bytes <= base + size;
}

char *bytes_of(const void *memory, size_t bytes, int device) {
    std::lock_guard lock(world().mutex);
    auto *block = block_of(memory);
    const size_t offset = block ? size_t(static_cast<const char *>(memory) - block->first) : 0;
    const char *why = !block                                ? "no memory of a device"
                      : offset + bytes > block->second.size ? "beyond the end of an allocation"
                      : device >= 0 && block->second.device != device ? "memory of another device"
                                                                      : nullptr;
    if (!why) return block->second.bytes + offset;
    char text[160];
    snprintf(text, sizeof text, "%zu bytes at %p: %s", bytes, memory, why);
    violate(text);
    return nullptr;
}

char *host_bytes(const void *memory, size_t) {
    {
        std::lock_guard lock(world().mutex);
        if (!block_of(memory)) return const_cast<char *>(static_cast<const char *>(memory));
    }
    violate("memory of a device where the host's was expected");
    return nullptr;
}

int copy(void *dst, int dst_device, const void *src, int src_device, size_t bytes, int failure) {
    char *to = dst_device < 0 ? host_bytes(dst, bytes) : bytes_of(dst, bytes, dst_device);
    char *from = src_device < 0 ? host_bytes(src, bytes) : bytes_of(src, bytes, src_device);
    if (!to || !from) return failure;
    memmove(to, from, bytes);
    return 0;
}

// ---- Streams ------------------------------------------------------------------------------------

void *make_stream() {
    std::lock_guard lock(world().mutex);
    StreamPointer stream = start(thread_device);
    world().streams[stream.get()] = stream;
    return stream.get();
}

bool destroy_stream(void *handle) {
    std::lock_guard lock(world().mutex);
    StreamPointer stream = handle ? find_stream(handle) : nullptr;
    if (!stream) return refuse("a stream");
    if (stream->done < stream->accepted) violate("a stream is destroyed with work in it");
    stream->closed = true;
    world().streams.erase(handle);
    world().changed.notify_all();
    return true;
}

bool enqueue(void *handle, Work work) {
    std::lock_guard lock(world().mutex);
    StreamPointer stream = find_stream(handle);
    if (!stream) return refuse("a stream");
    if (stream->device != thread_device) violate("the stream is of another device than the thread");
    ++stream->accepted;
    stream->queue.push_back([work = std::move(work), name = thread_function] {
        thread_function = name;
        return work();
    });
    world().changed.notify_all();
    return true;
}

bool synchronize(void *handle, int *code) {
    std::unique_lock lock(world().mutex);
    StreamPointer stream = find_stream(handle);
    if (!stream) return refuse("a stream");
    const uint64_t until = stream->accepted;
    world().changed.wait(lock, [&] { return stream->done >= until; });
    *code = stream->code;
    stream->code = 0;
    return true;
}

bool synchronize_device(int *code) {
    std::vector<void *> mine{nullptr};
    {
        std::lock_guard lock(world().mutex);
        for (auto &[handle, stream] : world().streams)
            if (stream->device == thread_device) mine.push_back(handle);
    }
    for (void *handle : mine)
        if (!synchronize(handle, code)) return false;
    return true;
}

bool is_idle(void *handle, bool *idle) {
    std::lock_guard lock(world().mutex);
    StreamPointer stream = find_stream(handle);
    if (!stream) return refuse("a stream");
    *idle = stream->done == stream->accepted;
    return true;
}

int device_of_stream(void *handle) {
    std::lock_guard lock(world().mutex);
    StreamPointer stream = find_stream(handle);
    return stream ? stream->device : -1;
}

// ---- Events -------------------------------------------------------------------------------------

void *make_event(bool timed) {
    std::lock_guard lock(world().mutex);
    auto event = std::make_unique<Event>(Event{timed, nullptr});
    void *handle = event.get();
    world().events[handle] = std::move(event);
    return handle;
}

bool destroy_event(void *handle) {
    std::lock_guard lock(world().mutex);
    return world().events.erase(handle) || refuse("an event");
}

bool record(void *handle, void *stream) {
    auto mark = std::make_shared<Mark>();
    {
        std::lock_guard lock(world().mutex);
        Event *event = find_event(handle);
        if (!event) return refuse("an event");
        event->mark = mark;
    }
    return enqueue(stream, [mark] {
        std::lock_guard lock(world().mutex);
        mark->done = true;
        mark->time = std::chrono::steady_clock::now();
        world().changed.notify_all();
        return 0;
    });
}

bool wait(void *stream, void *handle) {
    std::shared_ptr<Mark> mark;
    {
        std::lock_guard lock(world().mutex);
        Event *event = find_event(handle);
        if (!event) return refuse("an event");
        mark = event->mark;
    }
    return enqueue(stream, [mark] {
        std::unique_lock lock(world().mutex);
        world().changed.wait(lock, [&] { return !mark || mark->done; });
        return 0;
    });
}

bool synchronize_event(void *handle) {
    std::unique_lock lock(world().mutex);
    Event *event = find_event(handle);
    if (!event) return refuse("an event");
    auto mark = event->mark;
    world().changed.wait(lock, [&] { return !mark || mark->done; });
    return true;
}

bool is_recorded(void *handle, bool *done) {
    std::lock_guard lock(world().mutex);
    Event *event = find_event(handle);
    if (!event) return refuse("an event");
    *done = !event->mark || event->mark->done;
    return true;
}

bool elapsed(void *start, void *end, float *milliseconds) {
    std::lock_guard lock(world().mutex);
    Event *first = find_event(start), *second = find_event(end);
    if (!first || !second) return refuse("an event");
    for (Event *event : {first, second})
        if (!event->timed || !event->mark || !event->mark->done) {
            violate("an event without timing, or not recorded");
            return false;
        }
    *milliseconds =
        std::chrono::duration<float, std::milli>(second->mark->time - first->mark->time).count();
    return true;
}

}  // namespace simulated
