// Drives the CPU back end through its driver table alone, as the core does.
#pragma once

#include <dlfcn.h>
#include <infini/backend.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

inline thread_local std::string explanation;  // what the back end said about its last error

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            std::fprintf(stderr, "%s:%d: CHECK(%s) failed (process %d)\n", __FILE__, __LINE__, \
                         #condition, getpid());                                                \
            std::abort();                                                                      \
        }                                                                                      \
    } while (0)

#define CHECK_EQ(left, right)                                                                   \
    do {                                                                                        \
        long long left_ = static_cast<long long>(left), right_ = static_cast<long long>(right); \
        if (left_ != right_) {                                                                  \
            std::fprintf(stderr, "%s:%d: %s is %lld, not %lld (process %d): %s\n", __FILE__,    \
                         __LINE__, #left, left_, right_, getpid(), explanation.c_str());        \
            std::abort();                                                                       \
        }                                                                                       \
    } while (0)

#define OK(call) CHECK_EQ(call, infinirtSuccess)

#define RUN(test)                   \
    do {                            \
        std::printf("%s\n", #test); \
        std::fflush(stdout);        \
        test();                     \
    } while (0)

inline const InfiniDriver *driver;
inline int device_count;
inline char probe_reason[256];

// `place` is seen from the folder of this program in the build tree.
inline std::string library_path(const char *variable, const char *place) {
    if (const char *path = std::getenv(variable)) return path;
    char self[4096] = "";
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    std::string folder(self, std::string(self).rfind('/'));
    return folder + place;
}

inline void open_driver(const char *variable = "INFINI_CPU_LIBRARY",
                        const char *place = "/../root/lib/backends/libinfini_cpu.so") {
    static const InfiniHost host = {sizeof(InfiniHost), INFINI_BACKEND_ABI,
                                    [](const char *sentence) { explanation = sentence; }};
    void *library = dlopen(library_path(variable, place).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) std::fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    auto open = reinterpret_cast<InfiniBackendOpen>(dlsym(library, INFINI_BACKEND_OPEN));
    CHECK(open);
    const InfiniBackend *backend = open(&host);
    CHECK(backend);
    device_count = backend->probe(probe_reason, sizeof probe_reason);
    driver = backend->driver;
}

// ---- Shorthand ----------------------------------------------------------------------------------

inline void *make_stream(unsigned flags = infinirtStreamNonBlocking, int priority = 0,
                         int device = 0) {
    void *stream = nullptr;
    OK(driver->stream_create(device, flags, priority, &stream));
    return stream;
}

inline void *make_event(unsigned flags = infinirtEventDefault) {
    void *event = nullptr;
    OK(driver->event_create(0, flags, &event));
    return event;
}

inline char *allocate(size_t bytes) {
    void *memory = nullptr;
    OK(driver->allocate(0, bytes, &memory));
    return static_cast<char *>(memory);
}

inline InfiniWork copy_work(void *dst, const void *src, size_t bytes) {
    InfiniWork work{};
    work.kind = INFINI_WORK_COPY;
    work.as.copy = {dst, src, bytes, 1, 1, bytes, bytes, bytes, bytes, 0, 0};
    return work;
}

inline InfiniWork fill_work(void *dst, uint32_t value, size_t bytes) {
    InfiniWork work{};
    work.kind = INFINI_WORK_FILL;
    work.as.fill = {dst, value, 1, bytes, 1, 1, bytes, bytes};
    return work;
}

inline InfiniWork host_work(void (*function)(void *), void *data) {
    InfiniWork work{};
    work.kind = INFINI_WORK_HOST;
    work.as.host = {function, data};
    return work;
}

inline InfiniWork event_work(InfiniWorkKind kind, void *event) {
    InfiniWork work{};
    work.kind = kind;
    work.as.event = event;
    return work;
}

inline void submit(void *stream, const InfiniWork &work, int device = 0) {
    OK(driver->submit(device, stream, &work, 1));
}
inline void host(void *stream, void (*function)(void *), void *data, int device = 0) {
    submit(stream, host_work(function, data), device);
}
inline void record(void *stream, void *event, int device = 0) {
    submit(stream, event_work(INFINI_WORK_RECORD, event), device);
}
inline void wait(void *stream, void *event, int device = 0) {
    submit(stream, event_work(INFINI_WORK_WAIT, event), device);
}
inline void synchronize(void *stream, int device = 0) {
    OK(driver->stream_synchronize(device, stream));
}

// A stream runs up to the latch and waits there until it is opened: asynchrony without sleeping.
class Latch {
public:
    explicit Latch(void *stream = nullptr, int device = 0, bool put = false) {
        if (stream || put) host(stream, hold, this, device);
    }
    void open() {
        open_.store(true);
        open_.notify_all();
    }
    void wait_reached() const { reached_.wait(false); }
    static void hold(void *self) {
        auto *latch = static_cast<Latch *>(self);
        latch->reached_.store(true);
        latch->reached_.notify_all();
        latch->open_.wait(false);
    }

private:
    std::atomic<bool> open_{false}, reached_{false};
};

inline void add_one(void *counter) { static_cast<std::atomic<int> *>(counter)->fetch_add(1); }
