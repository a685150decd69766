// The state of a thread: its device, the device's stream and memory, the graph being recorded.
// Every function throws std::runtime_error with the message of the call that failed.
#pragma once

#include <cstdint>
#include <memory>

#include "infiniop.h"
#include "infinirt.h"
#include "memory.hpp"

namespace infinicore {

namespace graph {
class Graph;
class GraphOperator;
}  // namespace graph

namespace context {

// The calling thread's device. Until a thread sets one, it is the first accelerator present, of the
// type with the highest number, else the CPU.
INFINI_EXPORT void setDevice(Device device);
INFINI_EXPORT Device getDevice();
INFINI_EXPORT size_t getDeviceCount(Device::Type type);

// The stream that the device's work goes to; on the CPU the default stream, whose work mostly runs
// in the calling thread.
INFINI_EXPORT infinirtStream_t getStream();
INFINI_EXPORT infiniopHandle_t getInfiniopHandle(Device device);
INFINI_EXPORT void syncStream();
INFINI_EXPORT void syncDevice();

// Memory comes from a caching allocator per device, ordered by the stream.
INFINI_EXPORT std::shared_ptr<Memory> allocateMemory(size_t size);
INFINI_EXPORT std::shared_ptr<Memory> allocateHostMemory(size_t size);
INFINI_EXPORT std::shared_ptr<Memory> allocatePinnedHostMemory(size_t size);
INFINI_EXPORT void trimMemory();  // releases unused cached memory

struct MemoryStats {
    size_t allocated;       // bytes in use
    size_t reserved;        // bytes taken from the device: in use or cached
    size_t peak_allocated;  // since the start or the last reset
    size_t peak_reserved;
    size_t allocations;  // number of calls
    size_t from_device;  // those that missed the cache
};
INFINI_EXPORT MemoryStats memoryStats(Device device);
INFINI_EXPORT void resetPeakMemoryStats(Device device);

INFINI_EXPORT void memcpyH2D(void *dst, const void *src, size_t size, bool async = true);
INFINI_EXPORT void memcpyD2H(void *dst, const void *src, size_t size);
INFINI_EXPORT void memcpyD2D(void *dst, const void *src, size_t size, bool async = true);
INFINI_EXPORT void memcpyH2H(void *dst, const void *src, size_t size);
INFINI_EXPORT void setDeviceMemory(void *ptr, int value, size_t count);
INFINI_EXPORT void setDeviceMemoryAsync(void *ptr, int value, size_t count,
                                        infinirtStream_t stream);

// Event flags, with CUDA's values. The enumerators of infinirt.h, which have other values, are
// accepted too.
enum EventFlags : uint32_t {
    EVENT_DEFAULT = 0,
    EVENT_BLOCKING_SYNC = 1,   // waiting threads sleep instead of spinning
    EVENT_DISABLE_TIMING = 2,  // cannot be used for elapsed time
    EVENT_INTERPROCESS = 4     // needs EVENT_DISABLE_TIMING
};
INFINI_EXPORT infinirtEvent_t createEvent();
INFINI_EXPORT infinirtEvent_t createEventWithFlags(uint32_t flags);
INFINI_EXPORT infinirtEvent_t createEventWithFlags(infinirtEventFlags_t flag);
INFINI_EXPORT void recordEvent(infinirtEvent_t event, infinirtStream_t stream = nullptr);
INFINI_EXPORT bool queryEvent(infinirtEvent_t event);
INFINI_EXPORT void synchronizeEvent(infinirtEvent_t event);
INFINI_EXPORT void destroyEvent(infinirtEvent_t event);
INFINI_EXPORT float elapsedTime(infinirtEvent_t start, infinirtEvent_t end);  // milliseconds
INFINI_EXPORT void streamWaitEvent(infinirtStream_t stream, infinirtEvent_t event);

// From start to stop this thread's operations are recorded instead of run.
INFINI_EXPORT bool isGraphRecording();
INFINI_EXPORT void startGraphRecording();
INFINI_EXPORT void addGraphOperator(std::shared_ptr<graph::GraphOperator> op);
INFINI_EXPORT std::shared_ptr<graph::Graph> stopGraphRecording();
INFINI_EXPORT void cancelGraphRecording();

}  // namespace context
}  // namespace infinicore
