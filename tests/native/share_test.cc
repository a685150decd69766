// Several devices and several processes: peer copies, memory and events passed to a child process.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr auto kInvalid = infinirtErrorInvalidValue;
constexpr auto kNoDevice = infinirtErrorInvalidDevice;

void *allocate_on(int device, size_t bytes) {
    void *memory;
    OK(infinirtSetDevice(device));
    OK(infinirtMalloc(&memory, bytes));
    OK(infinirtSetDevice(0));
    return memory;
}

void peer_access() {
    int can = -1, value = -1;
    OK(infinirtDeviceCanAccessPeer(&can, 0, 1));
    CHECK_EQ(can, 1);
    OK(infinirtDeviceCanAccessPeer(&can, 1, 1));
    CHECK_EQ(can, 0);
    FAILS(infinirtDeviceCanAccessPeer(&can, 0, 99), kNoDevice);
    OK(infinirtDeviceGetP2PAttribute(&value, infinirtDevP2PAttrAccessSupported, 0, 1));
    CHECK_EQ(value, 1);
    FAILS(infinirtDeviceGetP2PAttribute(&value, infinirtDevP2PAttrAccessSupported, 1, 1),
          kNoDevice);
    FAILS(infinirtDeviceGetP2PAttribute(&value, static_cast<infinirtDeviceP2PAttr>(9), 0, 1),
          kInvalid);
    FAILS(infinirtDeviceEnablePeerAccess(0, 0), infinirtErrorPeerAccessUnsupported);
    FAILS(infinirtDeviceDisablePeerAccess(0), infinirtErrorPeerAccessNotEnabled);
    FAILS(infinirtDeviceEnablePeerAccess(1, 1), kInvalid);
    FAILS(infinirtDeviceDisablePeerAccess(1), infinirtErrorPeerAccessNotEnabled);
    OK(infinirtDeviceEnablePeerAccess(1, 0));
    FAILS(infinirtDeviceEnablePeerAccess(1, 0), infinirtErrorPeerAccessAlreadyEnabled);
    OK(infinirtDeviceDisablePeerAccess(1));
}

void peer_copies() {
    void *a = allocate_on(0, 256), *b = allocate_on(1, 256);
    infinirtPointerAttributes attributes;
    OK(infinirtPointerGetAttributes(&attributes, b));
    CHECK_EQ(attributes.device, 1);
    std::vector<char> host(256, 4), back(256);
    OK(infinirtMemcpy(a, host.data(), 256, infinirtMemcpyHostToDevice));
    OK(infinirtMemcpyPeer(b, 1, a, 0, 256));
    OK(infinirtMemcpy(back.data(), b, 256, infinirtMemcpyDeviceToHost));
    CHECK(back == host);
    FAILS(infinirtMemcpyPeer(b, 0, a, 0, 256), kInvalid);
    FAILS(infinirtMemcpyPeer(b, 1, a, 1, 256), kInvalid);
    FAILS(infinirtMemcpyPeer(b, 1, a, 99, 256), kNoDevice);
    FAILS(infinirtMemcpyPeer(b, 1, a, 0, 257), kInvalid);
    FAILS(infinirtMemcpyPeer(host.data(), 1, a, 0, 8), kInvalid);

    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    OK(infinirtMemsetAsync(a, 5, 256, stream));
    OK(infinirtMemcpyPeerAsync(b, 1, a, 0, 128, stream));
    infinirtMemcpy3DPeerParms box{};
    box.srcPtr = {a, 16, 16, 16};
    box.dstPtr = {b, 16, 16, 16};
    box.dstPos = {0, 8, 0};
    box.dstDevice = 1;
    box.extent = {16, 4, 1};
    OK(infinirtMemcpy3DPeerAsync(&box, stream));
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtMemcpy(back.data(), b, 256, infinirtMemcpyDefault));
    CHECK(back[191] == 5 && back[192] == 4);
    box.dstPos.y = 12;
    OK(infinirtMemcpy3DPeer(&box));
    OK(infinirtMemcpy(back.data(), b, 256, infinirtMemcpyDefault));
    CHECK_EQ(back[255], 5);
    box.dstDevice = 0;
    FAILS(infinirtMemcpy3DPeer(&box), kInvalid);
    OK(infinirtStreamDestroy(stream));
    OK(infinirtFree(a));
    OK(infinirtFree(b));
}

// MemcpyPeer is ordered after earlier and before later work of both devices, and the host does not
// wait.
void peer_copy_is_ordered_with_both_devices() {
    void *a = allocate_on(0, 64), *b = allocate_on(1, 64);
    infinirtStream_t stream;
    OK(infinirtSetDevice(1));
    OK(infinirtStreamCreate(&stream));  // a blocking stream of device 1
    Latch latch;
    OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
    OK(infinirtMemsetAsync(b, 1, 64, stream));
    OK(infinirtSetDevice(0));
    OK(infinirtMemset(a, 0, 64));
    OK(infinirtMemcpyPeer(a, 0, b, 1, 64));
    OK(infinirtSetDevice(1));
    OK(infinirtMemsetAsync(b, 2, 64, stream));
    latch.open();
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtSetDevice(0));
    char back[64];
    OK(infinirtMemcpy(back, a, 64, infinirtMemcpyDeviceToHost));
    CHECK_EQ(back[63], 1);
    OK(infinirtMemcpy(back, b, 64, infinirtMemcpyDeviceToHost));
    CHECK_EQ(back[0], 2);
    OK(infinirtStreamDestroy(stream));
    OK(infinirtFree(a));
    OK(infinirtFree(b));
}

void pool_access() {
    infinirtMemPool_t pool;
    OK(infinirtDeviceGetDefaultMemPool(&pool, 0));
    infinirtMemAccessDesc access{{infinirtMemLocationTypeDevice, 1},
                                 infinirtMemAccessFlagsProtReadWrite};
    infinirtMemAccessFlags flags;
    OK(infinirtMemPoolGetAccess(&flags, pool, &access.location));
    CHECK_EQ(flags, infinirtMemAccessFlagsProtNone);
    OK(infinirtMemPoolSetAccess(pool, &access, 1));
    OK(infinirtMemPoolGetAccess(&flags, pool, &access.location));
    CHECK_EQ(flags, infinirtMemAccessFlagsProtReadWrite);
    FAILS(infinirtDeviceSetMemPool(1, pool), kInvalid);
    // An allocation in a stream of device 1 comes from the pool of device 0 on request.
    infinirtStream_t stream;
    OK(infinirtSetDevice(1));
    OK(infinirtStreamCreate(&stream));
    void *memory;
    OK(infinirtMallocFromPoolAsync(&memory, 64, pool, stream));
    infinirtPointerAttributes attributes;
    OK(infinirtPointerGetAttributes(&attributes, memory));
    CHECK_EQ(attributes.device, 0);
    OK(infinirtMemsetAsync(memory, 1, 64, stream));
    OK(infinirtFreeAsync(memory, stream));
    OK(infinirtStreamSynchronize(stream));
    OK(infinirtStreamDestroy(stream));
    OK(infinirtSetDevice(0));
}

// ---- Other processes ----------------------------------------------------------------------------

struct Handles {
    infinirtIpcMemHandle_t memory;
    infinirtIpcEventHandle_t event;
    char byte;
};

void read_all(int fd, void *data, size_t bytes) {
    CHECK_EQ(read(fd, data, bytes), static_cast<ssize_t>(bytes));
}

void write_all(int fd, const void *data, size_t bytes) {
    CHECK_EQ(write(fd, data, bytes), static_cast<ssize_t>(bytes));
}

// Runs as a program of its own, between two pipes.
int child(int in, int out) {
    Handles handles;
    read_all(in, &handles, sizeof handles);
    void *first, *second;
    constexpr unsigned kFlags = infinirtIpcMemLazyEnablePeerAccess;
    FAILS(infinirtIpcOpenMemHandle(&first, handles.memory, 0), kInvalid);
    OK(infinirtIpcOpenMemHandle(&first, handles.memory, kFlags));
    OK(infinirtIpcOpenMemHandle(&second, handles.memory, kFlags));
    CHECK(first == second);
    char data[100];
    OK(infinirtMemcpy(data, first, 100, infinirtMemcpyDeviceToHost));
    for (char byte : data) CHECK_EQ(byte, handles.byte);
    FAILS(infinirtMemcpy(data, first, 5000, infinirtMemcpyDeviceToHost), kInvalid);
    OK(infinirtMemset(first, handles.byte + 1, 100));
    OK(infinirtDeviceSynchronize());
    FAILS(infinirtFree(first), kInvalid);
    OK(infinirtIpcCloseMemHandle(first));
    OK(infinirtMemset(second, handles.byte + 1, 1));  // the other opening still counts
    OK(infinirtDeviceSynchronize());
    OK(infinirtIpcCloseMemHandle(second));
    FAILS(infinirtIpcCloseMemHandle(second), kInvalid);

    infinirtEvent_t event;
    OK(infinirtIpcOpenEventHandle(&event, handles.event));
    FAILS(infinirtEventQuery(event), infinirtErrorNotReady);  // the parent's stream is at a latch
    write_all(out, "q", 1);
    OK(infinirtEventSynchronize(event));
    infinirtIpcEventHandle_t again;
    FAILS(infinirtIpcGetEventHandle(&again, event), infinirtErrorInvalidResourceHandle);
    OK(infinirtEventDestroy(event));
    write_all(out, "e", 1);

    infinirtIpcMemHandle_t nonsense;
    memset(&nonsense, 0x5a, sizeof nonsense);
    CHECK(infinirtIpcOpenMemHandle(&first, nonsense, kFlags) != infinirtSuccess);
    return 0;
}

void other_process(const char *program) {
    int to_child[2], from_child[2];
    CHECK_EQ(pipe(to_child) | pipe(from_child), 0);
    pid_t process = fork();
    if (process == 0) {
        close(to_child[1]);
        close(from_child[0]);
        std::string in = std::to_string(to_child[0]), out = std::to_string(from_child[1]);
        execl(program, program, in.c_str(), out.c_str(), nullptr);
        _exit(3);
    }
    close(to_child[0]);
    close(from_child[1]);

    Handles handles{};
    handles.byte = 42;
    char *memory;
    OK(infinirtMalloc(reinterpret_cast<void **>(&memory), 1000));
    OK(infinirtMemset(memory, handles.byte, 1000));
    infinirtIpcMemHandle_t again;
    OK(infinirtIpcGetMemHandle(&handles.memory, memory));
    OK(infinirtIpcGetMemHandle(&again, memory + 500));  // refers to the same allocation
    CHECK_EQ(memcmp(&again, &handles.memory, sizeof again), 0);
    void *mine;
    FAILS(infinirtIpcOpenMemHandle(&mine, again, infinirtIpcMemLazyEnablePeerAccess),
          infinirtErrorDeviceUninitialized);
    int local;
    FAILS(infinirtIpcGetMemHandle(&again, &local), kInvalid);
    FAILS(infinirtIpcCloseMemHandle(memory), kInvalid);

    infinirtEvent_t event, plain;
    OK(infinirtEventCreate(&plain));
    FAILS(infinirtIpcGetEventHandle(&handles.event, plain), infinirtErrorInvalidResourceHandle);
    OK(infinirtEventCreateWithFlags(&event,
                                    infinirtEventInterprocess | infinirtEventDisableTiming));
    OK(infinirtIpcGetEventHandle(&handles.event, event));
    FAILS(infinirtIpcOpenEventHandle(&plain, handles.event), infinirtErrorDeviceUninitialized);
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, infinirtStreamNonBlocking));
    Latch latch;
    OK(infinirtLaunchHostFunc(stream, Latch::hold, &latch));
    OK(infinirtEventRecord(event, stream));
    latch.wait_reached();

    write_all(to_child[1], &handles, sizeof handles);
    char said;
    read_all(from_child[0], &said, 1);
    CHECK_EQ(said, 'q');
    latch.open();
    read_all(from_child[0], &said, 1);
    CHECK_EQ(said, 'e');
    int status;
    CHECK_EQ(waitpid(process, &status, 0), process);
    CHECK_EQ(status, 0);
    std::vector<char> back(1000);
    OK(infinirtMemcpy(back.data(), memory, 1000, infinirtMemcpyDeviceToHost));
    CHECK(back[99] == 43 && back[100] == 42);
    OK(infinirtStreamDestroy(stream));
    OK(infinirtEventDestroy(event));
    OK(infinirtEventDestroy(plain));
    OK(infinirtFree(memory));
}

}  // namespace

int main(int count, char **arguments) {
    setenv("INFINI_CPU_DEVICES", "2", 1);
    setenv("INFINI_DEVICE", "cpu", 1);
    if (count == 3) return child(atoi(arguments[1]), atoi(arguments[2]));
    RUN(peer_access);
    RUN(peer_copies);
    RUN(peer_copy_is_ordered_with_both_devices);
    RUN(pool_access);
    other_process("/proc/self/exe");
    std::puts("ok");
}
