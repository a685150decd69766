// Managed memory. The device decides where its pages reside; advice and prefetches are hints, which
// the core records page by page so that MemRangeGetAttribute can report it.
#include "managed.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "capture.h"
#include "impl.h"
#include "memory.h"

namespace infini::rt {
namespace {

constexpr uintptr_t kPage = 4096;

struct Location {
    infinirtMemLocationType type = infinirtMemLocationTypeInvalid;
    int id = 0;

    bool operator==(const Location &) const = default;
    auto operator<=>(const Location &) const = default;
    // As reported by the attributes of the first form.
    int number() const {
        if (type == infinirtMemLocationTypeInvalid) return infinirtInvalidDeviceId;
        return type == infinirtMemLocationTypeDevice ? id : infinirtCpuDeviceId;
    }
};

// The state of the pages from one address up to the next in the map.
struct Advice {
    bool read_mostly = false;
    Location preferred, prefetched;
    std::set<Location> accessed_by;
};

using Advices = std::map<uintptr_t, Advice>;

struct Managed {
    ForkSafeMutex mutex{LockRank::Registry};
    std::map<uintptr_t, Advices> allocations;  // by base
};

Managed &managed() {
    static auto *instance = new Managed;
    return *instance;
}

// The pages of [pointer, pointer + count), which must be in one managed allocation.
struct Pages {
    MemoryRange range;
    uintptr_t begin, end;
};

Error find_pages(Call &call, const void *pointer, size_t count, Pages *pages) {
    bool known = find_memory(pointer, &pages->range);
    if (!known || pages->range.kind != MemoryKind::Managed || count == 0 ||
        !pages->range.contains(pointer, count))
        return call.invalid(
            "devPtr is %p with count %zu: expected a part of one allocation of "
            "infinirtMallocManaged",
            pointer, count);
    auto address = reinterpret_cast<uintptr_t>(pointer);
    pages->begin = std::max(address / kPage * kPage, pages->range.base);
    pages->end = std::min((address + count + kPage - 1) / kPage * kPage,
                          pages->range.base + pages->range.bytes);
    return infinirtSuccess;
}

// The entry that begins exactly at `address`, split off the one before it if need be.
Advices::iterator split(Advices &advices, uintptr_t address) {
    auto after = advices.upper_bound(address);
    if (after == advices.begin()) return advices.emplace(address, Advice{}).first;
    auto at = std::prev(after);
    return at->first == address ? at : advices.emplace_hint(after, address, at->second);
}

void change(const Pages &pages, auto apply) {
    std::lock_guard lock(managed().mutex);
    Advices &advices = managed().allocations[pages.range.base];
    if (advices.empty()) advices.emplace(pages.range.base, Advice{});
    if (pages.end < pages.range.base + pages.range.bytes) split(advices, pages.end);
    for (auto it = split(advices, pages.begin); it != advices.end() && it->first < pages.end; ++it)
        apply(it->second);
}

std::vector<Advice> read(const Pages &pages) {
    std::lock_guard lock(managed().mutex);
    std::vector<Advice> found;
    auto allocation = managed().allocations.find(pages.range.base);
    if (allocation == managed().allocations.end()) return {Advice{}};
    const Advices &advices = allocation->second;
    for (auto it = std::prev(advices.upper_bound(pages.begin));
         it != advices.end() && it->first < pages.end; ++it)
        found.push_back(it->second);
    return found;
}

Error to_location(Call &call, const char *name, const infinirtMemLocation &given,
                  Location *location) {
    *location = {given.type, given.id};
    switch (given.type) {
        case infinirtMemLocationTypeDevice:
            return device_argument(call, given.id, name) ? infinirtSuccess : call.error();
        case infinirtMemLocationTypeHost:
        case infinirtMemLocationTypeHostNumaCurrent:
            location->id = infinirtCpuDeviceId;
            return infinirtSuccess;
        case infinirtMemLocationTypeHostNuma:
            if (given.id >= 0) return infinirtSuccess;
            [[fallthrough]];
        default:
            return call.invalid("%s has type %d and id %d: expected a device or the host", name,
                                static_cast<int>(given.type), given.id);
    }
}

infinirtMemLocation from_number(int device) {
    if (device == infinirtCpuDeviceId) return {infinirtMemLocationTypeHost, 0};
    return {infinirtMemLocationTypeDevice, device};
}

Error advise(Call &call, const void *pointer, size_t count, infinirtMemoryAdvise advice,
             const infinirtMemLocation &given, const char *name) {
    Pages pages;
    if (Error error = find_pages(call, pointer, count, &pages)) return error;
    Location at;
    bool needs_location = advice == infinirtMemAdviseSetPreferredLocation ||
                          advice == infinirtMemAdviseSetAccessedBy ||
                          advice == infinirtMemAdviseUnsetAccessedBy;
    if (needs_location)
        if (Error error = to_location(call, name, given, &at)) return error;
    switch (advice) {
        case infinirtMemAdviseSetReadMostly:
        case infinirtMemAdviseUnsetReadMostly:
            change(pages, [&](Advice &known) {
                known.read_mostly = advice == infinirtMemAdviseSetReadMostly;
            });
            return infinirtSuccess;
        case infinirtMemAdviseSetPreferredLocation:
        case infinirtMemAdviseUnsetPreferredLocation:
            change(pages, [&](Advice &known) { known.preferred = at; });
            return infinirtSuccess;
        case infinirtMemAdviseSetAccessedBy:
            change(pages, [&](Advice &known) { known.accessed_by.insert(at); });
            return infinirtSuccess;
        case infinirtMemAdviseUnsetAccessedBy:
            change(pages, [&](Advice &known) { known.accessed_by.erase(at); });
            return infinirtSuccess;
    }
    return call.invalid("advice is %d: expected an infinirtMemoryAdvise (1 to 6)",
                        static_cast<int>(advice));
}

Error prefetch(Call &call, const void *pointer, size_t count, const infinirtMemLocation &given,
               const char *name, Stream &stream) {
    Pages pages;
    if (Error error = find_pages(call, pointer, count, &pages)) return error;
    Location at;
    if (Error error = to_location(call, name, given, &at)) return error;
    if (stream.capture.load(std::memory_order_acquire))
        return refuse_in_capture(call, stream, "a prefetch cannot be captured");
    if (stream.legacy)
        if (Error error = check_legacy_use(call, stream.device)) return error;
    change(pages, [&](Advice &known) { known.prefetched = at; });
    return infinirtSuccess;
}

// The location that all pages share, else an invalid one.
Location common(const std::vector<Advice> &advices, Location Advice::*which) {
    for (const Advice &advice : advices)
        if (!(advice.*which == advices.front().*which)) return {};
    return advices.front().*which;
}

std::vector<int> common_accessors(const std::vector<Advice> &advices) {
    std::set<Location> shared = advices.front().accessed_by;
    for (const Advice &advice : advices)
        std::erase_if(shared, [&](const Location &at) { return !advice.accessed_by.contains(at); });
    std::vector<int> numbers;
    for (const Location &at : shared) numbers.push_back(at.number());
    return numbers;
}

// The value of all attributes except the list of accessors.
int one_number(infinirtMemRangeAttribute attribute, const std::vector<Advice> &advices) {
    Location preferred = common(advices, &Advice::preferred);
    Location prefetched = common(advices, &Advice::prefetched);
    switch (attribute) {
        case infinirtMemRangeAttributeReadMostly:
            return std::all_of(advices.begin(), advices.end(),
                               [](const Advice &advice) { return advice.read_mostly; });
        case infinirtMemRangeAttributePreferredLocation:
            return preferred.number();
        case infinirtMemRangeAttributePreferredLocationType:
            return preferred.type;
        case infinirtMemRangeAttributePreferredLocationId:
            return preferred.id;
        case infinirtMemRangeAttributeLastPrefetchLocation:
            return prefetched.number();
        case infinirtMemRangeAttributeLastPrefetchLocationType:
            return prefetched.type;
        case infinirtMemRangeAttributeLastPrefetchLocationId:
            return prefetched.id;
        default:
            return 0;
    }
}

Error tell(Call &call, void *data, size_t bytes, infinirtMemRangeAttribute attribute,
           const std::vector<Advice> &advices) {
    if (attribute < infinirtMemRangeAttributeReadMostly ||
        attribute > infinirtMemRangeAttributeLastPrefetchLocationId)
        return call.invalid("attribute is %d: expected an infinirtMemRangeAttribute (1 to 8)",
                            static_cast<int>(attribute));
    bool list = attribute == infinirtMemRangeAttributeAccessedBy;
    if (list ? bytes == 0 || bytes % sizeof(int) != 0 : bytes != sizeof(int))
        return call.invalid("dataSize is %zu: expected %s4", bytes, list ? "a multiple of " : "");
    if (!data || !probe_host(call.thread.memory, data, bytes, true))
        return call.invalid("data is %p: expected %zu bytes that can be written", data, bytes);
    std::vector<int> numbers;
    if (list)
        numbers = common_accessors(advices);
    else
        numbers.push_back(one_number(attribute, advices));
    numbers.resize(bytes / sizeof(int), infinirtInvalidDeviceId);
    memcpy(data, numbers.data(), bytes);
    return infinirtSuccess;
}

}  // namespace

void forget_advice(uintptr_t base) {
    std::lock_guard lock(managed().mutex);
    managed().allocations.erase(base);
}

namespace impl {

Error MallocManaged(Call &call, void **devPtr, size_t size, unsigned int flags) {
    Device &device = call.device();
    if (flags != infinirtMemAttachGlobal && flags != infinirtMemAttachHost)
        return call.invalid(
            "flags is 0x%x: expected infinirtMemAttachGlobal or infinirtMemAttachHost", flags);
    *devPtr = nullptr;
    if (size == 0) return infinirtSuccess;  // as Malloc
    auto driver_allocate = device.driver().allocate_managed;
    if (!driver_allocate)
        return call.fail(infinirtErrorNotSupported, "%s devices have no managed memory",
                         device.backend.name.c_str());
    if (Error error = check_unsafe_call(call)) return error;
    if (size > PTRDIFF_MAX)
        return call.fail(infinirtErrorMemoryAllocation, "no memory for %zu bytes", size);
    void *memory = nullptr;
    Error error = driver_allocate(device.index, size, &memory);
    if (error != infinirtSuccess) return call.driver(error, "allocating managed memory");
    MemoryRange range;
    range.base = reinterpret_cast<uintptr_t>(memory);
    range.bytes = size;
    range.kind = MemoryKind::Managed;
    range.device = &device;
    range.flags = flags;
    forget_advice(range.base);
    if (!add_memory(range)) {
        device.driver().release(device.index, memory, size);
        return call.fail(infinirtErrorUnknown, "the memory at %p is in use already", memory);
    }
    *devPtr = memory;
    return infinirtSuccess;
}

Error MemAdvise(Call &call, const void *devPtr, size_t count, infinirtMemoryAdvise advice,
                int device) {
    return advise(call, devPtr, count, advice, from_number(device), "device");
}

Error MemAdvise_v2(Call &call, const void *devPtr, size_t count, infinirtMemoryAdvise advice,
                   infinirtMemLocation location) {
    return advise(call, devPtr, count, advice, location, "location");
}

Error MemPrefetchAsync(Call &call, const void *devPtr, size_t count, int dstDevice,
                       Stream &stream) {
    return prefetch(call, devPtr, count, from_number(dstDevice), "dstDevice", stream);
}

Error MemPrefetchAsync_v2(Call &call, const void *devPtr, size_t count,
                          infinirtMemLocation location, unsigned int flags, Stream &stream) {
    if (flags != 0) return call.invalid("flags is 0x%x: expected 0", flags);
    return prefetch(call, devPtr, count, location, "location", stream);
}

Error MemRangeGetAttribute(Call &call, void *data, size_t dataSize,
                           infinirtMemRangeAttribute attribute, const void *devPtr, size_t count) {
    Pages pages;
    if (Error error = find_pages(call, devPtr, count, &pages)) return error;
    return tell(call, data, dataSize, attribute, read(pages));
}

Error MemRangeGetAttributes(Call &call, void **data, size_t *dataSizes,
                            infinirtMemRangeAttribute *attributes, size_t numAttributes,
                            const void *devPtr, size_t count) {
    if (numAttributes == 0) return call.invalid("numAttributes is 0: expected at least 1");
    Pages pages;
    if (Error error = find_pages(call, devPtr, count, &pages)) return error;
    std::vector<Advice> advices = read(pages);
    for (size_t i = 0; i < numAttributes; ++i)
        if (Error error = tell(call, data[i], dataSizes[i], attributes[i], advices)) return error;
    return infinirtSuccess;
}

// The client promises who accesses the memory; no data has to move.
Error StreamAttachMemAsync(Call &call, Stream &stream, void *devPtr, size_t length,
                           unsigned int flags) {
    if (flags != infinirtMemAttachGlobal && flags != infinirtMemAttachHost &&
        flags != infinirtMemAttachSingle)
        return call.invalid(
            "flags is 0x%x: expected infinirtMemAttachGlobal, infinirtMemAttachHost or "
            "infinirtMemAttachSingle",
            flags);
    if (flags == infinirtMemAttachSingle && stream.legacy)
        return call.invalid(
            "infinirtMemAttachSingle with the null stream: expected a created stream");
    MemoryRange range;
    bool whole = find_memory(devPtr, &range) && range.kind == MemoryKind::Managed &&
                 range.base == reinterpret_cast<uintptr_t>(devPtr) &&
                 (length == 0 || length == range.bytes);
    if (!whole)
        return call.invalid(
            "devPtr is %p with length %zu: expected a whole allocation of infinirtMallocManaged "
            "(length 0 or its size)",
            devPtr, length);
    if (stream.capture.load(std::memory_order_acquire))
        return refuse_in_capture(call, stream, "attaching memory cannot be captured");
    return stream.legacy ? check_legacy_use(call, stream.device) : infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
