// Device, pinned, registered and managed memory through the public API; bad calls included.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

namespace {

const char *kWild = reinterpret_cast<const char *>(0x10);
void *wild() { return const_cast<char *>(kWild); }

void malloc_and_free() {
    void *memory = wild();
    OK(infinirtMalloc(&memory, 0));
    CHECK(memory == nullptr);
    OK(infinirtFree(nullptr));

    OK(infinirtMalloc(&memory, 1000));
    CHECK_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0);
    char *inside = static_cast<char *>(memory) + 8;
    FAILS(infinirtFree(inside), infinirtErrorInvalidValue);
    FAILS(infinirtFreeHost(memory), infinirtErrorInvalidValue);
    OK(infinirtFree(memory));
    FAILS(infinirtFree(memory), infinirtErrorInvalidValue);
    FAILS(infinirtFree(wild()), infinirtErrorInvalidValue);
    int local = 0;
    FAILS(infinirtFree(&local), infinirtErrorInvalidValue);
    CHECK(strstr(infiniGetLastErrorMessage(), "infinirtFree: devPtr"));
    FAILS(infinirtMalloc(nullptr, 8), infinirtErrorInvalidValue);
}

void out_of_memory_leaves_the_device_usable() {
    size_t free_bytes, total;
    OK(infinirtMemGetInfo(&free_bytes, &total));
    CHECK(free_bytes <= total && total > 0);
    void *memory = wild();
    for (size_t size : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - 511, total * 2}) {
        FAILS(infinirtMalloc(&memory, size), infinirtErrorMemoryAllocation);
        FAILS(infinirtMallocHost(&memory, size), infinirtErrorMemoryAllocation);
        FAILS(infinirtMallocManaged(&memory, size, infinirtMemAttachGlobal),
              infinirtErrorMemoryAllocation);
        FAILS(infinirtMallocAsync(&memory, size, nullptr), infinirtErrorMemoryAllocation);
    }
    size_t pitch;
    FAILS(infinirtMallocPitch(&memory, &pitch, SIZE_MAX, 2), infinirtErrorInvalidValue);
    FAILS(infinirtMallocPitch(&memory, &pitch, SIZE_MAX / 4, 8), infinirtErrorInvalidValue);
    FAILS(infinirtMallocPitch(&memory, &pitch, total, 2), infinirtErrorMemoryAllocation);
    infinirtPitchedPtr box;
    FAILS(infinirtMalloc3D(&box, {SIZE_MAX / 2, 2, 2}), infinirtErrorInvalidValue);
    OK(infinirtMalloc(&memory, 4096));
    OK(infinirtMemset(memory, 1, 4096));
    OK(infinirtFree(memory));
}

// Memory that a pool keeps is given up before an allocation fails.
void pools_are_trimmed_before_memory_runs_out() {
    size_t free_bytes, total;
    OK(infinirtMemGetInfo(&free_bytes, &total));
    size_t most = total / 4 * 3, half = total / 2;
    void *kept, *memory;
    // The system may not provide this much, whatever the device reports.
    if (infinirtMalloc(&memory, most) != infinirtSuccess) return;
    OK(infinirtFree(memory));
    infinirtMemPool_t pool;
    OK(infinirtDeviceGetDefaultMemPool(&pool, 0));
    uint64_t keep = UINT64_MAX, zero = 0, reserved;
    OK(infinirtMemPoolSetAttribute(pool, infinirtMemPoolAttrReleaseThreshold, &keep));
    OK(infinirtMallocAsync(&kept, half, nullptr));
    OK(infinirtFreeAsync(kept, nullptr));
    OK(infinirtStreamSynchronize(nullptr));
    OK(infinirtMemPoolGetAttribute(pool, infinirtMemPoolAttrReservedMemCurrent, &reserved));
    CHECK(reserved >= half);
    OK(infinirtMalloc(&memory, most));
    OK(infinirtMemPoolGetAttribute(pool, infinirtMemPoolAttrReservedMemCurrent, &reserved));
    CHECK_EQ(reserved, 0);
    OK(infinirtFree(memory));
    OK(infinirtMemPoolSetAttribute(pool, infinirtMemPoolAttrReleaseThreshold, &zero));
}

void pitched_memory() {
    void *memory;
    size_t pitch;
    OK(infinirtMallocPitch(&memory, &pitch, 100, 7));
    CHECK(pitch >= 100 && pitch % 256 == 0);
    OK(infinirtMemset2D(memory, pitch, 3, 100, 7));
    FAILS(infinirtMemset(memory, 0, pitch * 7 + 1), infinirtErrorInvalidValue);
    OK(infinirtFree(memory));
    infinirtPitchedPtr box;
    OK(infinirtMalloc3D(&box, {33, 5, 4}));
    CHECK_EQ(box.xsize, 33);
    CHECK_EQ(box.ysize, 5);
    OK(infinirtMemset3D(box, 9, {33, 5, 4}));
    FAILS(infinirtMemset3D(box, 9, {33, 5, 5}), infinirtErrorInvalidValue);
    FAILS(infinirtMemset3D(box, 9, {33, 6, 2}), infinirtErrorInvalidValue);
    OK(infinirtMemset3D(box, 9, {33, 5, 0}));
    OK(infinirtFree(box.ptr));
    OK(infinirtMallocPitch(&memory, &pitch, 5, 0));
    CHECK(!memory && pitch == 0);
}

void pinned_memory() {
    void *memory;
    OK(infinirtMallocHost(&memory, 0));
    CHECK(!memory);
    OK(infinirtFreeHost(nullptr));
    FAILS(infinirtHostAlloc(&memory, 64, 0x100), infinirtErrorInvalidValue);
    OK(infinirtHostAlloc(&memory, 100, infinirtHostAllocMapped | infinirtHostAllocPortable));
    memset(memory, 1, 100);
    unsigned flags = 0;
    OK(infinirtHostGetFlags(&flags, memory));
    CHECK_EQ(flags, infinirtHostAllocMapped | infinirtHostAllocPortable);
    void *device;
    char *inside = static_cast<char *>(memory) + 10;
    OK(infinirtHostGetDevicePointer(&device, inside, 0));
    CHECK(device == inside);
    FAILS(infinirtHostGetDevicePointer(&device, memory, 1), infinirtErrorInvalidValue);
    FAILS(infinirtHostGetDevicePointer(&device, &flags, 0), infinirtErrorInvalidValue);
    FAILS(infinirtHostGetFlags(&flags, &flags), infinirtErrorInvalidValue);
    FAILS(infinirtFreeHost(inside), infinirtErrorInvalidValue);
    FAILS(infinirtFree(memory), infinirtErrorInvalidValue);
    FAILS(infinirtHostUnregister(memory), infinirtErrorInvalidValue);
    FAILS(infinirtHostRegister(memory, 100, 0), infinirtErrorInvalidValue);
    OK(infinirtFreeHost(memory));
    FAILS(infinirtFreeHost(memory), infinirtErrorInvalidValue);
    FAILS(infinirtFreeHost(wild()), infinirtErrorInvalidValue);
}

void registered_memory() {
    std::vector<char> buffer(3 * 4096);
    OK(infinirtHostRegister(buffer.data(), 4096, infinirtHostRegisterDefault));
    FAILS(infinirtHostRegister(buffer.data(), 4096, 0), infinirtErrorHostMemoryAlreadyRegistered);
    FAILS(infinirtHostRegister(buffer.data() + 4095, 10, 0),
          infinirtErrorHostMemoryAlreadyRegistered);
    OK(infinirtHostRegister(buffer.data() + 4096, 4096, infinirtHostRegisterReadOnly));
    FAILS(infinirtHostRegister(nullptr, 10, 0), infinirtErrorInvalidValue);
    FAILS(infinirtHostRegister(buffer.data() + 8192, 0, 0), infinirtErrorInvalidValue);
    FAILS(infinirtHostRegister(buffer.data() + 8192, SIZE_MAX, 0), infinirtErrorInvalidValue);
    FAILS(infinirtHostRegister(wild(), 10, 0), infinirtErrorInvalidValue);
    FAILS(infinirtHostRegister(buffer.data(), 10, 0x40), infinirtErrorInvalidValue);
    void *memory;
    OK(infinirtMalloc(&memory, 64));
    FAILS(infinirtHostRegister(memory, 64, 0), infinirtErrorInvalidValue);
    OK(infinirtFree(memory));
    FAILS(infinirtFree(buffer.data()), infinirtErrorInvalidValue);
    FAILS(infinirtFreeHost(buffer.data()), infinirtErrorInvalidValue);
    FAILS(infinirtHostUnregister(buffer.data() + 8), infinirtErrorInvalidValue);
    OK(infinirtHostUnregister(buffer.data()));
    FAILS(infinirtHostUnregister(buffer.data()), infinirtErrorHostMemoryNotRegistered);
    OK(infinirtHostUnregister(buffer.data() + 4096));
    FAILS(infinirtHostUnregister(wild()), infinirtErrorHostMemoryNotRegistered);
}

// A program may unmap what it registered; the stale record does not affect a later allocation at
// the same address.
void registered_and_unmapped() {
    size_t bytes = 8 << 20;
    void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED);
    for (size_t at = 0; at < bytes; at += 1 << 16)
        OK(infinirtHostRegister(static_cast<char *>(map) + at, 4096, 0));
    munmap(map, bytes);
    std::vector<void *> blocks(8);
    for (void *&memory : blocks) {
        OK(infinirtMalloc(&memory, 1 << 20));
        OK(infinirtMemset(memory, 0, 1 << 20));
    }
    for (void *memory : blocks) OK(infinirtFree(memory));
}

void check_attributes(const void *pointer, infinirtMemoryType type, const void *device,
                      const void *host) {
    infinirtPointerAttributes attributes;
    OK(infinirtPointerGetAttributes(&attributes, pointer));
    CHECK_EQ(attributes.type, type);
    CHECK_EQ(attributes.device,
             type == infinirtMemoryTypeUnregistered ? infinirtInvalidDeviceId : 0);
    CHECK(attributes.devicePointer == device);
    CHECK(attributes.hostPointer == host);
}

void pointer_attributes() {
    char *memory;
    auto **place = reinterpret_cast<void **>(&memory);
    OK(infinirtMalloc(place, 64));
    check_attributes(memory + 63, infinirtMemoryTypeDevice, memory + 63, nullptr);
    OK(infinirtFree(memory));
    OK(infinirtMallocHost(place, 64));
    check_attributes(memory + 1, infinirtMemoryTypeHost, memory + 1, memory + 1);
    OK(infinirtFreeHost(memory));
    OK(infinirtMallocManaged(place, 64, infinirtMemAttachGlobal));
    check_attributes(memory, infinirtMemoryTypeManaged, memory, memory);
    OK(infinirtFree(memory));
    OK(infinirtMallocAsync(place, 64, nullptr));
    check_attributes(memory, infinirtMemoryTypeDevice, memory, nullptr);
    OK(infinirtFreeAsync(memory, nullptr));
    std::vector<char> host(100);
    check_attributes(host.data(), infinirtMemoryTypeUnregistered, nullptr, host.data());
    OK(infinirtHostRegister(host.data(), 100, 0));
    check_attributes(host.data() + 99, infinirtMemoryTypeHost, host.data() + 99, host.data() + 99);
    OK(infinirtHostUnregister(host.data()));
    check_attributes(host.data(), infinirtMemoryTypeUnregistered, nullptr, host.data());
    check_attributes(nullptr, infinirtMemoryTypeUnregistered, nullptr, nullptr);
    check_attributes(wild(), infinirtMemoryTypeUnregistered, nullptr, wild());
    FAILS(infinirtPointerGetAttributes(nullptr, memory), infinirtErrorInvalidValue);
}

template <class T = int>
T range_attribute(const void *memory, size_t count, infinirtMemRangeAttribute attribute) {
    T value;
    OK(infinirtMemRangeGetAttribute(&value, sizeof value, attribute, memory, count));
    return value;
}

void managed_memory() {
    char *memory;
    auto **place = reinterpret_cast<void **>(&memory);
    OK(infinirtMallocManaged(place, 0, infinirtMemAttachGlobal));
    CHECK(!memory);
    FAILS(infinirtMallocManaged(place, 64, 0), infinirtErrorInvalidValue);
    OK(infinirtMallocManaged(place, 4 * 4096, infinirtMemAttachGlobal));
    memset(memory, 5, 4 * 4096);
    OK(infinirtMemset(memory, 7, 4096));
    CHECK_EQ(memory[4095], 7);  // the host waited, so it may read
    CHECK_EQ(memory[4096], 5);

    // The first three pages are mostly read; the middle two prefer the device.
    OK(infinirtMemAdvise(memory, 3 * 4096, infinirtMemAdviseSetReadMostly, 0));
    OK(infinirtMemAdvise(memory + 4096, 2 * 4096, infinirtMemAdviseSetPreferredLocation, 0));
    CHECK_EQ(range_attribute(memory, 3 * 4096, infinirtMemRangeAttributeReadMostly), 1);
    CHECK_EQ(range_attribute(memory, 4 * 4096, infinirtMemRangeAttributeReadMostly), 0);
    auto preferred = infinirtMemRangeAttributePreferredLocation;
    CHECK_EQ(range_attribute(memory + 4096, 8192, preferred), 0);
    CHECK_EQ(range_attribute(memory, 8192, preferred), infinirtInvalidDeviceId);
    CHECK_EQ(range_attribute(memory + 8192, 1, infinirtMemRangeAttributePreferredLocationType),
             infinirtMemLocationTypeDevice);
    OK(infinirtMemAdvise(memory, 4 * 4096, infinirtMemAdviseUnsetReadMostly, 0));
    CHECK_EQ(range_attribute(memory, 4096, infinirtMemRangeAttributeReadMostly), 0);

    struct Three {
        int numbers[3];
    };
    OK(infinirtMemAdvise(memory, 4096, infinirtMemAdviseSetAccessedBy, infinirtCpuDeviceId));
    OK(infinirtMemAdvise(memory, 4096, infinirtMemAdviseSetAccessedBy, 0));
    auto accessors = range_attribute<Three>(memory, 4096, infinirtMemRangeAttributeAccessedBy);
    CHECK_EQ(accessors.numbers[0] + accessors.numbers[1], infinirtCpuDeviceId);
    CHECK_EQ(accessors.numbers[2], infinirtInvalidDeviceId);

    OK(infinirtMemPrefetchAsync(memory, 4096, infinirtCpuDeviceId, nullptr));
    auto prefetched = infinirtMemRangeAttributeLastPrefetchLocation;
    CHECK_EQ(range_attribute(memory, 4096, prefetched), infinirtCpuDeviceId);
    OK(infinirtMemPrefetchAsync_v2(memory, 8192, {infinirtMemLocationTypeDevice, 0}, 0, nullptr));
    CHECK_EQ(range_attribute(memory, 8192, prefetched), 0);
    int first, second;
    void *data[] = {&first, &second};
    size_t sizes[] = {4, 4};
    infinirtMemRangeAttribute attributes[] = {prefetched, infinirtMemRangeAttributeReadMostly};
    OK(infinirtMemRangeGetAttributes(data, sizes, attributes, 2, memory, 4096));
    CHECK_EQ(first + second, 0);

    FAILS(infinirtMemPrefetchAsync(memory, 4096, 99, nullptr), infinirtErrorInvalidDevice);
    FAILS(infinirtMemAdvise(memory, 5 * 4096, infinirtMemAdviseSetReadMostly, 0),
          infinirtErrorInvalidValue);
    FAILS(infinirtMemAdvise(memory, 0, infinirtMemAdviseSetReadMostly, 0),
          infinirtErrorInvalidValue);
    FAILS(infinirtMemAdvise(memory, 16, static_cast<infinirtMemoryAdvise>(77), 0),
          infinirtErrorInvalidValue);
    FAILS(infinirtMemAdvise_v2(memory, 16, infinirtMemAdviseSetPreferredLocation,
                               {infinirtMemLocationTypeInvalid, 0}),
          infinirtErrorInvalidValue);
    FAILS(infinirtMemRangeGetAttribute(&first, 3, prefetched, memory, 16),
          infinirtErrorInvalidValue);
    FAILS(infinirtMemRangeGetAttribute(&first, 4, prefetched, &first, 4),
          infinirtErrorInvalidValue);

    infinirtStream_t stream;
    OK(infinirtStreamCreate(&stream));
    OK(infinirtStreamAttachMemAsync(stream, memory, 0, infinirtMemAttachSingle));
    OK(infinirtStreamAttachMemAsync(nullptr, memory, 4 * 4096, infinirtMemAttachGlobal));
    FAILS(infinirtStreamAttachMemAsync(nullptr, memory, 0, infinirtMemAttachSingle),
          infinirtErrorInvalidValue);
    FAILS(infinirtStreamAttachMemAsync(stream, memory, 100, infinirtMemAttachHost),
          infinirtErrorInvalidValue);
    OK(infinirtStreamDestroy(stream));
    OK(infinirtFree(memory));
    FAILS(infinirtMemAdvise(memory, 16, infinirtMemAdviseSetReadMostly, 0),
          infinirtErrorInvalidValue);
}

// Freeing memory waits for work in any stream of the device that may use it.
void free_waits() {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    void *memory, *pinned;
    std::vector<char> host(4096);
    OK(infinirtMalloc(&memory, 4096));
    OK(infinirtMallocHost(&pinned, 4096));
    OK(infinirtHostRegister(host.data(), 4096, 0));
    for (int which = 0; which < 3; ++which) {
        Latch latch;
        OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
        std::atomic<bool> done{false};
        std::thread other([&] {
            if (which == 0) OK(infinirtFree(memory));
            if (which == 1) OK(infinirtFreeHost(pinned));
            if (which == 2) OK(infinirtHostUnregister(host.data()));
            done.store(true);
        });
        latch.wait_reached();
        CHECK(!done.load());
        latch.open();
        other.join();
        OK(infinirtStreamQuery(stream));
    }
    OK(infinirtStreamDestroy(stream));
}

void on_threads(int count, auto work) {
    std::vector<std::thread> threads;
    for (int id = 0; id < count; ++id) threads.emplace_back(work, id);
    for (std::thread &thread : threads) thread.join();
}

void many_threads() {
    on_threads(64, [](int id) {
        for (int round = 0; round < 40; ++round) {
            void *device, *pinned;
            size_t bytes = 64 + static_cast<size_t>(id * 37 + round * 11) % 5000;
            OK(infinirtMalloc(&device, bytes));
            OK(infinirtMallocHost(&pinned, bytes));
            OK(infinirtMemset(device, id, bytes));
            OK(infinirtMemcpy(pinned, device, bytes, infinirtMemcpyDefault));
            CHECK_EQ(static_cast<unsigned char *>(pinned)[bytes - 1], id);
            OK(infinirtFreeHost(pinned));
            OK(infinirtFree(device));
        }
    });
}

// Of many threads that free the same memory, one succeeds.
void racing_frees() {
    std::vector<void *> shared(200);
    for (void *&memory : shared) OK(infinirtMalloc(&memory, 128));
    std::atomic<size_t> freed{0};
    on_threads(16, [&](int) {
        for (void *memory : shared)
            if (infinirtFree(memory) == infinirtSuccess) freed.fetch_add(1);
    });
    CHECK_EQ(freed.load(), shared.size());
}

}  // namespace

int main() {
    RUN(malloc_and_free);
    RUN(out_of_memory_leaves_the_device_usable);
    RUN(pools_are_trimmed_before_memory_runs_out);
    RUN(pitched_memory);
    RUN(pinned_memory);
    RUN(registered_memory);
    RUN(registered_and_unmapped);
    RUN(pointer_attributes);
    RUN(managed_memory);
    RUN(free_waits);
    RUN(many_threads);
    RUN(racing_frees);
    std::puts("ok");
}
