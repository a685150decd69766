// Copies and fills through the public API: data, directions, bounds, wild pointers.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "buffers.h"

namespace {

constexpr auto kInvalid = infinirtErrorInvalidValue;
constexpr auto kToDevice = infinirtMemcpyHostToDevice;
constexpr auto kToHost = infinirtMemcpyDeviceToHost;
constexpr auto kOnDevice = infinirtMemcpyDeviceToDevice;
constexpr auto kOnHost = infinirtMemcpyHostToHost;
constexpr auto kDefault = infinirtMemcpyDefault;

void sizes_and_directions() {
    for (size_t count : {size_t{1}, size_t{4095}, size_t{4096}, size_t{1} << 20, size_t{5000011}}) {
        DeviceMemory a(count), b(count);
        PinnedMemory pinned(count);
        Bytes source = pattern(count), other(count);
        OK(infinirtMemcpy(a, source.data(), count, kToDevice));
        OK(infinirtMemcpy(b, a, count, kOnDevice));
        CHECK(read_back(b, count) == source);
        OK(infinirtMemcpy(pinned, b, count, kDefault));
        OK(infinirtMemcpy(other.data(), pinned, count, kOnHost));
        CHECK(other == source);
        OK(infinirtMemset(a, 0x1ab, count));
        CHECK(read_back(a, count) == Bytes(count, 0xab));
        OK(infinirtMemcpy(a, pinned, count, kDefault));
        CHECK(read_back(a, count) == source);
    }
}

void wrong_directions() {
    DeviceMemory device(64);
    PinnedMemory pinned(64);
    Bytes host(64);
    void *a = host.data();
    FAILS(infinirtMemcpy(a, device, 64, kToDevice), kInvalid);
    CHECK(strstr(infiniGetLastErrorMessage(), "infinirtMemcpy: dst is "));
    CHECK(strstr(infiniGetLastErrorMessage(), "infinirtMemcpyHostToDevice asks for device memory"));
    FAILS(infinirtMemcpy(device, a, 64, kToHost), kInvalid);
    FAILS(infinirtMemcpy(device, a, 64, kOnDevice), kInvalid);
    FAILS(infinirtMemcpy(a, device, 64, kOnDevice), kInvalid);
    auto none = static_cast<infinirtMemcpyKind>(9);
    FAILS(infinirtMemcpy(device, a, 64, none), infinirtErrorInvalidMemcpyDirection);
    FAILS(infinirtMemcpyAsync(device, a, 64, none, nullptr), infinirtErrorInvalidMemcpyDirection);
    OK(infinirtMemcpy(device, a, 0, none));
    // Memory known to the runtime has the same address on the host and on the device.
    for (auto kind : {kToDevice, kToHost, kOnDevice, kOnHost, kDefault})
        for (void *known : {pinned.memory, device.memory})
            OK(infinirtMemcpy(known, pinned, 32, kind));
}

void bounds() {
    DeviceMemory a(100), b(200);
    Bytes host(300);
    OK(infinirtMemcpy(a.at(50), host.data(), 50, kToDevice));
    FAILS(infinirtMemcpy(a.at(50), host.data(), 51, kToDevice), kInvalid);
    CHECK(strstr(infiniGetLastErrorMessage(), "leave their allocation of 100 bytes"));
    FAILS(infinirtMemcpy(a, b, 101, kOnDevice), kInvalid);
    FAILS(infinirtMemcpy(b, a, 101, kOnDevice), kInvalid);
    FAILS(infinirtMemcpy(host.data(), b, 201, kToHost), kInvalid);
    FAILS(infinirtMemset(b, 0, 201), kInvalid);
    for (size_t count : {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2 + 1}) {
        FAILS(infinirtMemcpy(a, host.data(), count, kToDevice), kInvalid);
        FAILS(infinirtMemcpy(host.data(), host.data(), count, kOnHost), kInvalid);
        FAILS(infinirtMemset(a, 0, count), kInvalid);
        FAILS(infinirtMemcpyAsync(a, b, count, kDefault, nullptr), kInvalid);
    }
    void *pinned;
    OK(infinirtMallocHost(&pinned, 100));
    FAILS(infinirtMemcpy(a, pinned, 101, kToDevice), kInvalid);
    OK(infinirtFreeHost(pinned));
    void *freed;
    OK(infinirtMalloc(&freed, 64));
    OK(infinirtMemcpy(freed, host.data(), 64, kToDevice));
    OK(infinirtFree(freed));
    FAILS(infinirtMemcpy(freed, host.data(), 64, kToDevice), kInvalid);
    FAILS(infinirtMemcpy(host.data(), freed, 64, kToHost), kInvalid);
    FAILS(infinirtMemset(freed, 0, 64), kInvalid);
    FAILS(infinirtMemset(host.data(), 0, 64), kInvalid);
    OK(infinirtMallocAsync(&freed, 64, nullptr));
    OK(infinirtMemcpy(freed, host.data(), 64, kToDevice));
    FAILS(infinirtMemcpy(freed, host.data(), 65, kToDevice), kInvalid);
    OK(infinirtFreeAsync(freed, nullptr));
    FAILS(infinirtMemcpy(freed, host.data(), 64, kToDevice), kInvalid);
}

void no_bytes() {
    OK(infinirtMemcpy(nullptr, nullptr, 0, kToDevice));
    OK(infinirtMemset(nullptr, 0, 0));
    OK(infinirtMemcpy2D(nullptr, 0, nullptr, 0, 0, 5, kDefault));
    OK(infinirtMemcpy2D(nullptr, 0, nullptr, 0, 5, 0, kDefault));
    OK(infinirtMemset2DAsync(nullptr, 0, 0, 5, 0, nullptr));
    infinirtMemcpy3DParms box{};
    OK(infinirtMemcpy3D(&box));
}

void wild_pointers() {
    DeviceMemory device(8192);
    size_t page = 4096;
    void *map = mmap(nullptr, 4 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED);
    auto *memory = static_cast<char *>(map);
    CHECK_EQ(munmap(memory + page, page), 0);
    CHECK_EQ(mprotect(memory + 2 * page, page, PROT_NONE), 0);
    auto at = [](uintptr_t address) { return reinterpret_cast<void *>(address); };
    for (void *wild : {at(0), at(1), at(0xdead0000), at(UINTPTR_MAX - 3), at(UINTPTR_MAX - 9000),
                       at(UINTPTR_MAX / 2), static_cast<void *>(memory + page),
                       static_cast<void *>(memory + 2 * page)}) {
        for (auto kind : {kToDevice, kDefault}) {
            FAILS(infinirtMemcpy(device, wild, 8, kind), kInvalid);
            FAILS(infinirtMemcpyAsync(device, wild, 8, kind, nullptr), kInvalid);
            FAILS(infinirtMemcpy2D(device, 16, wild, 16, 8, 2, kind), kInvalid);
        }
        FAILS(infinirtMemcpy(wild, device, 8, kToHost), kInvalid);
        FAILS(infinirtMemcpy(wild, device, 8, kDefault), kInvalid);
        FAILS(infinirtMemset(wild, 1, 8), kInvalid);
    }
    OK(infinirtMemcpy(device, memory, page, kToDevice));
    FAILS(infinirtMemcpy(device, memory + 8, page, kToDevice), kInvalid);  // reaches into the hole
    FAILS(infinirtMemcpy(memory, device, 8, kToHost), kInvalid);           // read only
    CHECK_EQ(mprotect(memory, page, PROT_READ | PROT_WRITE), 0);
    OK(infinirtMemcpy(memory, device, 8, kToHost));
    munmap(memory, 4 * page);
}

void rows_and_boxes() {
    constexpr size_t kWidth = 37, kRows = 11, kSlices = 3, kHostPitch = 50;
    Bytes host = pattern(kHostPitch * kRows * kSlices), back(host.size());
    void *rows;
    size_t pitch;
    OK(infinirtMallocPitch(&rows, &pitch, kWidth, kRows));
    OK(infinirtMemcpy2D(rows, pitch, host.data(), kHostPitch, kWidth, kRows, kToDevice));
    OK(infinirtMemcpy2D(back.data(), kHostPitch, rows, pitch, kWidth, kRows, kToHost));
    for (size_t i = 0; i < kHostPitch * kRows; ++i)
        CHECK_EQ(back[i], i % kHostPitch < kWidth ? host[i] : 0);
    OK(infinirtMemset2D(rows, pitch, 0x55, 5, 3));
    CHECK_EQ(read_back(rows, pitch + 6)[pitch + 4], 0x55);
    CHECK_EQ(read_back(rows, pitch + 6)[pitch + 5], host[kHostPitch + 5]);

    auto pitch_error = infinirtErrorInvalidPitchValue;
    FAILS(infinirtMemcpy2D(rows, kWidth - 1, host.data(), 50, kWidth, 2, kToDevice), pitch_error);
    FAILS(infinirtMemcpy2D(rows, pitch, host.data(), 36, kWidth, 2, kToDevice), pitch_error);
    FAILS(infinirtMemcpy2D(rows, 4, host.data(), 36, kWidth, 1, kToDevice), kInvalid);
    FAILS(infinirtMemcpy2D(rows, SIZE_MAX, host.data(), 50, kWidth, 3, kToDevice), pitch_error);
    OK(infinirtMemcpy2D(rows, SIZE_MAX, host.data(), 50, kWidth, 1, kToDevice));
    FAILS(infinirtMemcpy2D(rows, pitch, host.data(), 50, kWidth, kRows + 1, kToDevice), kInvalid);
    FAILS(infinirtMemcpy2D(rows, pitch, host.data(), 50, kWidth, SIZE_MAX, kToDevice), pitch_error);
    FAILS(infinirtMemset2D(rows, 4, 0, 5, 3), kInvalid);
    FAILS(infinirtMemset2D(rows, pitch, 0, kWidth, kRows + 1), kInvalid);
    OK(infinirtFree(rows));

    infinirtPitchedPtr box;
    OK(infinirtMalloc3D(&box, {kWidth, kRows, kSlices}));
    OK(infinirtMemset3D(box, 0, {kWidth, kRows, kSlices}));
    infinirtMemcpy3DParms copy{};
    copy.srcPtr = {host.data(), kHostPitch, kWidth, kRows};
    copy.dstPtr = box;
    copy.dstPos = {2, 1, 1};
    copy.srcPos = {3, 4, 0};
    copy.extent = {20, 6, 2};
    copy.kind = kToDevice;
    OK(infinirtMemcpy3D(&copy));
    Bytes all = read_back(box.ptr, box.pitch * kRows * kSlices);
    for (size_t z = 0; z < kSlices; ++z)
        for (size_t y = 0; y < kRows; ++y)
            for (size_t x = 0; x < kWidth; ++x) {
                bool inside = x >= 2 && x < 22 && y >= 1 && y < 7 && z >= 1;
                unsigned expected =
                    inside ? host[((z - 1) * kRows + y + 3) * kHostPitch + x + 1] : 0;
                CHECK_EQ(all[(z * kRows + y) * box.pitch + x], expected);
            }
    infinirtMemcpy3DParms bad = copy;
    bad.extent.depth = 3;
    FAILS(infinirtMemcpy3D(&bad), kInvalid);
    bad = copy;
    bad.srcPtr.pitch = 22;  // enough for the extent, but not from srcPos on
    FAILS(infinirtMemcpy3D(&bad), kInvalid);
    bad.srcPtr.pitch = 19;
    FAILS(infinirtMemcpy3D(&bad), pitch_error);
    bad = copy;
    bad.dstPtr.ysize = 6;
    FAILS(infinirtMemcpy3D(&bad), kInvalid);
    bad.dstPtr.ysize = 5;
    FAILS(infinirtMemcpy3D(&bad), pitch_error);
    bad = copy;
    bad.dstPtr.ptr = nullptr;
    FAILS(infinirtMemcpy3D(&bad), kInvalid);
    bad = copy;
    bad.dstPos.z = SIZE_MAX;
    FAILS(infinirtMemcpy3D(&bad), kInvalid);
    bad = copy;
    bad.extent.width = SIZE_MAX;
    FAILS(infinirtMemcpy3D(&bad), pitch_error);
    bad = copy;
    bad.srcArray = reinterpret_cast<infinirtArray_t>(&bad);
    FAILS(infinirtMemcpy3D(&bad), infinirtErrorNotSupported);
    FAILS(infinirtMemcpy3D(nullptr), kInvalid);
    OK(infinirtFree(box.ptr));
}

}  // namespace

int main() {
    RUN(sizes_and_directions);
    RUN(wrong_directions);
    RUN(bounds);
    RUN(no_bytes);
    RUN(wild_pointers);
    RUN(rows_and_boxes);
    std::puts("ok");
}
