// Simulated hardware and its driver: two devices for the sample back end.
//
// It is unlike the CPU back end where that matters: device memory cannot be touched by the host
// (its addresses are reserved and protected; the bytes are stored elsewhere), every stream has a
// thread of its own, and nothing optional is offered. What the suites find working on it beyond
// copies, fills and events is the core's software.
#pragma once

#include <dlfcn.h>
#include <infini/backend.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kDevices = 2;
constexpr size_t kMemory = size_t{1} << 30;
const InfiniHost *host;

infinirtError_t fail(infinirtError_t code, const char *sentence) {
    host->explain(sentence);
    return code;
}

// The text after a word in this library's file name, or null without that word.
const char *variant(const char *word) {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(fail), &info)) return nullptr;
    const char *found = std::strstr(info.dli_fname, word);
    return found ? found + std::strlen(word) : nullptr;
}

// One lock for all: this is a model of hardware, not a fast one. Leaked: threads outlive main().
struct World {
    std::mutex mutex;
    std::condition_variable changed;
    struct Block {
        char *bytes;
        size_t size;
    };
    std::map<const char *, Block> memory;  // by device address
    size_t used[kDevices] = {};
};
World &world() {
    static auto *instance = new World;
    return *instance;
}

// ---- Memory -------------------------------------------------------------------------------------

// Where the bytes of a device address are stored; host addresses map to themselves.
char *bytes_of(const void *address) {
    auto *place = const_cast<char *>(static_cast<const char *>(address));
    std::lock_guard<std::mutex> lock(world().mutex);
    auto next = world().memory.upper_bound(place);
    if (next == world().memory.begin()) return place;
    auto &[base, block] = *std::prev(next);
    auto offset = static_cast<size_t>(place - base);
    return offset < block.size ? block.bytes + offset : place;
}

infinirtError_t allocate(int device, size_t bytes, void **memory) {
    std::lock_guard<std::mutex> lock(world().mutex);
    if (bytes > kMemory - world().used[device])
        return fail(infinirtErrorMemoryAllocation, "the simulated device has 1 GiB");
    void *address =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    auto *content = static_cast<char *>(std::calloc(bytes, 1));
    if (address == MAP_FAILED || !content) return infinirtErrorMemoryAllocation;
    world().memory[static_cast<char *>(address)] = {content, bytes};
    world().used[device] += bytes;
    *memory = address;
    return infinirtSuccess;
}

infinirtError_t release(int device, void *memory, size_t bytes) {
    std::lock_guard<std::mutex> lock(world().mutex);
    auto found = world().memory.find(static_cast<char *>(memory));
    if (found == world().memory.end() || found->second.size != bytes)
        return fail(infinirtErrorInvalidValue, "the core gave back what it did not take");
    std::free(found->second.bytes);
    world().memory.erase(found);
    world().used[device] -= bytes;
    munmap(memory, bytes);
    return infinirtSuccess;
}

// ---- Streams: a thread each. A position in one is how much of its work was taken or done. -------

struct Stream;
using StreamPtr = std::shared_ptr<Stream>;

struct Point {
    StreamPtr stream;
    uint64_t position = 0;
};

struct Event {
    bool timed;
    Point record;  // the last one submitted
    bool stamped = false;
    std::chrono::steady_clock::time_point time;
};
using EventPtr = std::shared_ptr<Event>;

struct Item {
    InfiniWork work;
    EventPtr event;             // RECORD
    std::vector<Point> before;  // what must finish first
};

struct Stream {
    bool blocking;
    uint64_t submitted = 0, done = 0;
    std::deque<Item> queue;
    bool closed = false;
};

struct Device {
    StreamPtr legacy;
    std::vector<StreamPtr> streams;
};
Device &device_of(int number) {
    static auto *devices = new Device[kDevices];
    return devices[number];
}

bool reached(const Point &point) { return !point.stream || point.stream->done >= point.position; }

template <class Body>
void each_row(size_t depth, size_t height, Body body) {
    for (size_t z = 0; z < depth; ++z)
        for (size_t y = 0; y < height; ++y) body(z, y);
}

void perform(const InfiniWork &work) {
    if (work.kind == INFINI_WORK_COPY) {
        const InfiniCopy &box = work.as.copy;
        char *to = bytes_of(box.dst), *from = bytes_of(box.src);
        each_row(box.depth, box.height, [&](size_t z, size_t y) {
            std::memmove(to + z * box.dst_slice + y * box.dst_pitch,
                         from + z * box.src_slice + y * box.src_pitch, box.width);
        });
    } else if (work.kind == INFINI_WORK_FILL) {
        const InfiniFill &box = work.as.fill;
        char *to = bytes_of(box.dst);
        each_row(box.depth, box.height, [&](size_t z, size_t y) {
            for (size_t x = 0; x < box.width; ++x)
                std::memcpy(to + z * box.slice + y * box.pitch + x * box.element, &box.value,
                            box.element);
        });
    } else if (work.kind == INFINI_WORK_HOST) {
        work.as.host.function(work.as.host.data);
    }
}

void serve(StreamPtr stream) {
    World &all = world();
    std::unique_lock<std::mutex> lock(all.mutex);
    for (;;) {
        all.changed.wait(lock, [&] { return !stream->queue.empty() || stream->closed; });
        if (stream->queue.empty()) return;
        Item item = std::move(stream->queue.front());
        stream->queue.pop_front();
        all.changed.wait(lock, [&] {
            for (const Point &point : item.before)
                if (!reached(point)) return false;
            return true;
        });
        lock.unlock();
        perform(item.work);
        lock.lock();
        if (item.event) {
            item.event->time = std::chrono::steady_clock::now();
            item.event->stamped = true;
        }
        ++stream->done;
        all.changed.notify_all();
    }
}

StreamPtr make_stream(bool blocking) {
    auto stream = std::make_shared<Stream>();
    stream->blocking = blocking;
    std::thread(serve, stream).detach();
    return stream;
}

StreamPtr find(int device, void *handle) {
    if (handle) return *static_cast<StreamPtr *>(handle);
    StreamPtr &legacy = device_of(device).legacy;
    if (!legacy) legacy = make_stream(true);
    return legacy;
}

infinirtError_t stream_create(int device, unsigned flags, int, void **stream) {
    std::lock_guard<std::mutex> lock(world().mutex);
    auto made = make_stream(!(flags & infinirtStreamNonBlocking));
    device_of(device).streams.push_back(made);
    *stream = new StreamPtr(made);
    return infinirtSuccess;
}

infinirtError_t stream_destroy(int, void *stream) {
    std::lock_guard<std::mutex> lock(world().mutex);
    auto *handle = static_cast<StreamPtr *>(stream);
    (*handle)->closed = true;  // its thread ends after the remaining work
    delete handle;
    world().changed.notify_all();
    return infinirtSuccess;
}

// The legacy stream and the blocking ones wait for each other's earlier work.
std::vector<Point> earlier(int device, const StreamPtr &stream) {
    std::vector<Point> points;
    Device &place = device_of(device);
    if (stream == place.legacy) {
        for (const StreamPtr &other : place.streams)
            if (other->blocking) points.push_back({other, other->submitted});
    } else if (stream->blocking && place.legacy) {
        points.push_back({place.legacy, place.legacy->submitted});
    }
    return points;
}

infinirtError_t submit(int device, void *handle, const InfiniWork *work, size_t count) {
    std::lock_guard<std::mutex> lock(world().mutex);
    StreamPtr stream = find(device, handle);
    std::vector<Point> before = earlier(device, stream);
    for (size_t i = 0; i < count; ++i) {
        Item item{work[i], nullptr, before};
        before.clear();
        ++stream->submitted;
        if (work[i].kind == INFINI_WORK_RECORD) {
            // A record replaces the event's earlier one, so it is an object of its own.
            auto &event = *static_cast<EventPtr *>(work[i].as.event);
            event = std::make_shared<Event>(
                Event{event->timed, {stream, stream->submitted}, false, {}});
            item.event = event;
        } else if (work[i].kind == INFINI_WORK_WAIT) {
            item.before.push_back((*static_cast<EventPtr *>(work[i].as.event))->record);
        }
        stream->queue.push_back(std::move(item));
    }
    world().changed.notify_all();
    return infinirtSuccess;
}

// The work that a wait for a stream, or a query, refers to now.
std::vector<Point> now(int device, const StreamPtr &stream) {
    std::vector<Point> points = earlier(device, stream);
    points.push_back({stream, stream->submitted});
    return points;
}

infinirtError_t answer(const std::vector<Point> &points) {
    for (const Point &point : points)
        if (!reached(point)) return infinirtErrorNotReady;
    return infinirtSuccess;
}

infinirtError_t stream_query(int device, void *stream) {
    std::lock_guard<std::mutex> lock(world().mutex);
    return answer(now(device, find(device, stream)));
}

infinirtError_t stream_synchronize(int device, void *stream) {
    std::unique_lock<std::mutex> lock(world().mutex);
    auto points = now(device, find(device, stream));
    world().changed.wait(lock, [&] { return answer(points) == infinirtSuccess; });
    return infinirtSuccess;
}

infinirtError_t device_synchronize(int device) {
    std::unique_lock<std::mutex> lock(world().mutex);
    Device &place = device_of(device);
    std::vector<Point> points;
    for (const StreamPtr &stream : place.streams) points.push_back({stream, stream->submitted});
    if (place.legacy) points.push_back({place.legacy, place.legacy->submitted});
    world().changed.wait(lock, [&] { return answer(points) == infinirtSuccess; });
    return infinirtSuccess;
}

// ---- Events -------------------------------------------------------------------------------------

infinirtError_t event_create(int, unsigned flags, void **event) {
    *event = new EventPtr(
        std::make_shared<Event>(Event{!(flags & infinirtEventDisableTiming), {}, false, {}}));
    return infinirtSuccess;
}

infinirtError_t event_destroy(int, void *event) {
    std::lock_guard<std::mutex> lock(world().mutex);
    delete static_cast<EventPtr *>(event);
    return infinirtSuccess;
}

infinirtError_t event_query(int, void *event) {
    std::lock_guard<std::mutex> lock(world().mutex);
    return answer({(*static_cast<EventPtr *>(event))->record});
}

infinirtError_t event_synchronize(int, void *event) {
    std::unique_lock<std::mutex> lock(world().mutex);
    Point record = (*static_cast<EventPtr *>(event))->record;
    world().changed.wait(lock, [&] { return reached(record); });
    return infinirtSuccess;
}

infinirtError_t event_elapsed(void *start, void *end, float *milliseconds) {
    std::lock_guard<std::mutex> lock(world().mutex);
    EventPtr first = *static_cast<EventPtr *>(start), second = *static_cast<EventPtr *>(end);
    for (const EventPtr &event : {first, second})
        if (!event->timed || !event->record.stream) return infinirtErrorInvalidResourceHandle;
    if (!first->stamped || !second->stamped) return infinirtErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
    return infinirtSuccess;
}

// ---- Devices ------------------------------------------------------------------------------------

infinirtError_t device_info(int device, InfiniDeviceInfo *info) {
    std::snprintf(info->name, sizeof info->name, "simulated device %d", device);
    info->uuid[0] = static_cast<unsigned char>(device + 1);
    info->memory_bytes = kMemory;
    info->multiprocessors = 1;
    info->warp_width = 32;
    return infinirtSuccess;
}

infinirtError_t device_memory(int device, size_t *free_bytes, size_t *total_bytes) {
    std::lock_guard<std::mutex> lock(world().mutex);
    *total_bytes = kMemory;
    *free_bytes = kMemory - world().used[device];
    return infinirtSuccess;
}

int probe(char *reason, size_t reason_bytes) {
    if (variant("-crash")) std::abort();
    if (variant("-exit")) std::exit(3);
    // The second succeeds in the child that probes it, and hangs in the client's process.
    if (variant("-hang") ||
        (variant("-stuck") && !std::strstr(program_invocation_name, "infini-probe")))
        for (;;) pause();
    if (!variant("-absent")) return kDevices;
    std::snprintf(reason, reason_bytes, "the simulated hardware is switched off");
    return 0;
}

}  // namespace
