// Copies and fills through the public API: data, directions, bounds, and what is waited for.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using Bytes = std::vector<unsigned char>;

Bytes pattern(size_t count, unsigned seed = 1) {
    Bytes bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + seed * 13);
    return bytes;
}

struct DeviceMemory {
    explicit DeviceMemory(size_t bytes) { OK(infinirtMalloc(&memory, bytes)); }
    ~DeviceMemory() { OK(infinirtFree(memory)); }
    operator void *() const { return memory; }
    unsigned char *at(size_t offset) const { return static_cast<unsigned char *>(memory) + offset; }
    void *memory;
};

struct PinnedMemory {
    explicit PinnedMemory(size_t bytes) { OK(infinirtMallocHost(&memory, bytes)); }
    ~PinnedMemory() { OK(infinirtFreeHost(memory)); }
    operator void *() const { return memory; }
    unsigned char *bytes() const { return static_cast<unsigned char *>(memory); }
    void *memory;
};

Bytes read_back(const void *device, size_t count) {
    Bytes bytes(count);
    OK(infinirtMemcpy(bytes.data(), device, count, infinirtMemcpyDeviceToHost));
    return bytes;
}

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
    // Memory that the runtime knows has one address on the host and on the device.
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
    FAILS(infinirtMemcpy(device, memory + 8, page, kToDevice), kInvalid);  // runs into the hole
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
    FAILS(infinirtMemcpy2D(rows, SIZE_MAX, host.data(), 50, kWidth, 2, kToDevice), kInvalid);
    OK(infinirtMemcpy2D(rows, SIZE_MAX, host.data(), 50, kWidth, 1, kToDevice));
    FAILS(infinirtMemcpy2D(rows, pitch, host.data(), 50, kWidth, kRows + 1, kToDevice), kInvalid);
    FAILS(infinirtMemcpy2D(rows, pitch, host.data(), 50, kWidth, SIZE_MAX, kToDevice), kInvalid);
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

// The client may change pageable memory as soon as the call returns, however busy the stream is.
void pageable_sources_are_read_at_once() {
    for (unsigned flags : {infinirtStreamNonBlocking, infinirtStreamDefault})
        for (size_t count : {size_t{100}, size_t{1} << 20}) {
            infinirtStream_t stream;
            OK(infinirtStreamCreateWithFlags(&stream, flags));
            DeviceMemory device(2 * count);
            Bytes source = pattern(count), expected = source;
            Latch latch;
            OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
            OK(infinirtMemcpyAsync(device, source.data(), count, kToDevice, stream));
            OK(infinirtMemcpy2DAsync(device.at(count), 10, source.data(), 50, 10, 2, kToDevice,
                                     stream));
            FAILS(infinirtStreamQuery(stream), infinirtErrorNotReady);
            source.assign(count, 0);
            latch.open();
            OK(infinirtStreamSynchronize(stream));
            CHECK(read_back(device, count) == expected);
            CHECK_EQ(read_back(device, count + 20)[count + 10], expected[50]);
            // And when the stream has nothing to do.
            source = expected = pattern(count, 2);
            OK(infinirtMemcpyAsync(device, source.data(), count, kToDevice, stream));
            source.assign(count, 0);
            OK(infinirtStreamSynchronize(stream));
            CHECK(read_back(device, count) == expected);
            OK(infinirtStreamDestroy(stream));
        }
}

// Copies between host memory, and to pageable memory, are waited for.
void copies_that_wait() {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    DeviceMemory device(64);
    PinnedMemory pinned(64), other(64);
    Bytes host(64), second(64);
    OK(infinirtMemset(device, 4, 64));
    OK(infinirtStreamSynchronize(nullptr));
    memset(pinned, 3, 64);
    struct {
        void *dst, *src;
    } copies[] = {{host.data(), device}, {host.data(), pinned}, {other, pinned}, {pinned, second.data()}};
    for (auto [dst, src] : copies) {
        Latch latch;
        OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
        std::atomic<bool> done{false};
        std::thread copier([&, dst = dst, src = src] {
            OK(infinirtMemcpyAsync(dst, src, 64, kDefault, stream));
            done.store(true);
        });
        latch.wait_reached();
        CHECK(!done.load());
        latch.open();
        copier.join();
        CHECK_EQ(memcmp(dst, src, 64), 0);
    }
    OK(infinirtStreamDestroy(stream));
}

// Pinned memory is read when the stream gets there; copies on the device and fills do not make the host wait.
void asynchrony() {
    infinirtStream_t stream;
    OK(infinirtStreamCreate(&stream));
    DeviceMemory a(64), b(64);
    PinnedMemory source(64), sink(64);
    memset(source, 1, 64);
    memset(sink, 0, 64);
    Latch latch;
    OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
    OK(infinirtMemcpyAsync(a, source, 64, kToDevice, stream));
    OK(infinirtMemcpyAsync(sink, a, 64, kToHost, stream));
    // In the null stream, behind the latch of a blocking stream.
    OK(infinirtMemcpy(b, a, 64, kOnDevice));
    OK(infinirtMemset(a, 3, 64));
    CHECK_EQ(sink.bytes()[0], 0);
    memset(source, 2, 64);
    latch.open();
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(sink.bytes()[63], 2);
    CHECK_EQ(read_back(b, 64)[63], 2);
    CHECK_EQ(read_back(a, 64)[0], 3);
    OK(infinirtStreamDestroy(stream));
}

void batches() {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    DeviceMemory device(300);
    PinnedMemory pinned(100);
    Bytes host = pattern(100), back(100);
    memcpy(pinned, host.data(), 100);
    void *dsts[] = {device, device.at(100), device.at(200)};
    void *srcs[] = {host.data(), pinned, pinned};
    size_t sizes[] = {100, 100, 50}, starts[] = {0, 1}, at_fault = 7;
    infinirtMemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = infinirtMemcpySrcAccessOrderDuringApiCall;
    attributes[1].srcAccessOrder = infinirtMemcpySrcAccessOrderStream;
    auto run = [&](infinirtStream_t in) {
        return infinirtMemcpyBatchAsync(dsts, srcs, sizes, 3, attributes, starts, 2, &at_fault, in);
    };
    OK(run(stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK(read_back(device, 100) == host && read_back(device.at(100), 100) == host);
    FAILS(run(nullptr), kInvalid);
    sizes[1] = 101;
    FAILS(run(stream), kInvalid);
    CHECK_EQ(at_fault, 1);
    sizes[1] = 100;
    sizes[2] = 0;
    FAILS(run(stream), kInvalid);
    CHECK_EQ(at_fault, 2);
    attributes[1].srcAccessOrder = infinirtMemcpySrcAccessOrderInvalid;
    FAILS(run(stream), kInvalid);
    CHECK_EQ(at_fault, SIZE_MAX);
    attributes[1].srcAccessOrder = infinirtMemcpySrcAccessOrderAny;
    starts[0] = 1;
    FAILS(run(stream), kInvalid);

    infinirtMemcpy3DBatchOp op{};
    op.src.type = op.dst.type = infinirtMemcpyOperandTypePointer;
    op.src.op.ptr = {device, 20, 0, {}};
    op.dst.op.ptr = {back.data(), 0, 0, {}};
    op.extent = {10, 3, 1};
    op.srcAccessOrder = infinirtMemcpySrcAccessOrderStream;
    OK(infinirtMemcpy3DBatchAsync(1, &op, &at_fault, 0, stream));
    OK(infinirtStreamSynchronize(stream));
    CHECK_EQ(back[25], host[45]);
    op.src.op.ptr.rowLength = 9;
    FAILS(infinirtMemcpy3DBatchAsync(1, &op, &at_fault, 0, stream), infinirtErrorInvalidPitchValue);
    CHECK_EQ(at_fault, 0);
    op.src.type = infinirtMemcpyOperandTypeArray;
    FAILS(infinirtMemcpy3DBatchAsync(1, &op, nullptr, 0, stream), infinirtErrorNotSupported);
    FAILS(infinirtMemcpy3DBatchAsync(1, &op, nullptr, 1, stream), kInvalid);
    OK(infinirtStreamDestroy(stream));
}

// Asynchronous copies become nodes. Synchronous ones are work of the null stream, no part of any capture.
void capture() {
    infinirtStream_t stream, blocking;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    OK(infinirtStreamCreate(&blocking));
    DeviceMemory device(64);
    Bytes host(64, 1);
    infinirtGraph_t graph;
    OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
    OK(infinirtMemcpyAsync(device, host.data(), 64, kToDevice, stream));
    OK(infinirtMemsetAsync(device, 9, 32, stream));
    OK(infinirtMemcpyAsync(host.data(), device, 64, kToHost, stream));
    OK(infinirtMemcpy(device, host.data(), 64, kToDevice));
    OK(infinirtStreamEndCapture(stream, &graph));
    size_t nodes = 0;
    OK(infinirtGraphGetNodes(graph, nullptr, &nodes));
    CHECK_EQ(nodes, 3);
    OK(infinirtGraphDestroy(graph));

    void *memory;
    for (int which = 0; which < 2; ++which) {
        OK(infinirtStreamBeginCapture(stream, infinirtStreamCaptureModeGlobal));
        auto unsupported = infinirtErrorStreamCaptureUnsupported;
        if (which == 0) FAILS(infinirtMalloc(&memory, 64), unsupported);
        if (which == 1) FAILS(infinirtFree(device), unsupported);
        FAILS(infinirtStreamEndCapture(stream, &graph), infinirtErrorStreamCaptureInvalidated);
        OK(infinirtStreamBeginCapture(blocking, infinirtStreamCaptureModeRelaxed));
        auto implicit = infinirtErrorStreamCaptureImplicit;
        if (which == 0) FAILS(infinirtMemcpy(device, host.data(), 64, kToDevice), implicit);
        if (which == 1) FAILS(infinirtMemset(device, 0, 64), implicit);
        FAILS(infinirtStreamEndCapture(blocking, &graph), infinirtErrorStreamCaptureInvalidated);
    }
    OK(infinirtStreamDestroy(stream));
    OK(infinirtStreamDestroy(blocking));
}

void many_threads() {
    DeviceMemory shared(64 * 4096);
    std::vector<std::thread> threads;
    for (unsigned id = 0; id < 64; ++id)
        threads.emplace_back([&, id] {
            infinirtStream_t stream;
            OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
            for (unsigned round = 0; round < 30; ++round) {
                Bytes mine = pattern(4096, id + round), back(4096);
                unsigned char *place = shared.at(id * 4096);
                if (round % 2) {
                    OK(infinirtMemcpy(place, mine.data(), 4096, kToDevice));
                } else {
                    OK(infinirtMemcpyAsync(place, mine.data(), 4096, kDefault, stream));
                    OK(infinirtStreamSynchronize(stream));
                }
                OK(infinirtMemcpy(back.data(), place, 4096, kToHost));
                CHECK(back == mine);
            }
            OK(infinirtStreamDestroy(stream));
        });
    for (std::thread &thread : threads) thread.join();
}

}  // namespace

int main() {
    RUN(sizes_and_directions);
    RUN(wrong_directions);
    RUN(bounds);
    RUN(no_bytes);
    RUN(wild_pointers);
    RUN(rows_and_boxes);
    RUN(pageable_sources_are_read_at_once);
    RUN(copies_that_wait);
    RUN(asynchrony);
    RUN(batches);
    RUN(capture);
    RUN(many_threads);
    std::puts("ok");
}
