#include "shared_event.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "sync.h"

namespace infini::cpu {
namespace {

constexpr size_t kPageBytes = 4096;

// A process that has ended but was not waited for yet (a zombie) does not count.
bool process_lives(int pid) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return false;
    text[length] = '\0';
    const char *after_name = strrchr(text, ')');
    return !after_name || !strchr("ZX", after_name[2]);
}

}  // namespace

Error SharedEvent::map(const IpcHandle &handle, int fd, SharedEvent **event) {
    void *page = ipc_map(fd, kPageBytes);
    if (!page)
        return fail(infinirtErrorMemoryAllocation, "cannot map an event's page: %s",
                    strerror(errno));
    *event = new (std::nothrow) SharedEvent(handle, static_cast<Page *>(page));
    if (*event) return infinirtSuccess;
    munmap(page, kPageBytes);
    return fail(infinirtErrorMemoryAllocation, "no memory for an event");
}

Error SharedEvent::create(SharedEvent **event) {
    IpcHandle handle;
    if (Error error = ipc_create(IpcKind::Event, kPageBytes, &handle)) return error;
    Error error = map(handle, handle.fd, event);
    if (error)
        close(handle.fd);
    else
        (*event)->fd_ = handle.fd;
    return error;
}

Error SharedEvent::import(const infinirtIpcEventHandle_t &opaque, SharedEvent **event) {
    IpcHandle handle;
    int fd;
    if (Error error = ipc_open(IpcKind::Event, &opaque, &handle, &fd)) return error;
    Error error = map(handle, fd, event);
    close(fd);
    return error;
}

void SharedEvent::export_to(infinirtIpcEventHandle_t *opaque) const {
    memset(opaque, 0, sizeof *opaque);
    memcpy(opaque, &handle_, sizeof handle_);
}

SharedEvent::~SharedEvent() {
    munmap(page_, kPageBytes);
    if (fd_ >= 0) close(fd_);
}

void SharedEvent::drop() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

uint64_t SharedEvent::record() {
    uint64_t number = page_->recorded.fetch_add(1) + 1;
    page_->records[number % kRecords].recorder.store(getpid());
    return number;
}

void SharedEvent::complete(uint64_t number) {
    std::atomic<uint64_t> &completed = page_->records[number % kRecords].completed;
    uint64_t seen = completed.load();
    while (seen < number && !completed.compare_exchange_weak(seen, number)) continue;
    page_->changes.fetch_add(1);
    if (page_->sleepers.load() != 0) futex_wake(page_->changes, INT32_MAX, Scope::Shared);
}

uint64_t SharedEvent::last_record() const { return page_->recorded.load(); }

bool SharedEvent::complete_at(uint64_t number) const {
    return number == 0 || page_->records[number % kRecords].completed.load() >= number;
}

bool SharedEvent::complete_or_abandoned(uint64_t number) {
    if (complete_at(number)) return true;
    int recorder = page_->records[number % kRecords].recorder.load();
    if (recorder == 0 || process_lives(recorder)) return false;
    complete(number);
    return true;
}

void SharedEvent::wait(uint64_t number, int64_t spin_ns) {
    if (spin(spin_ns, [&] { return complete_at(number); })) return;
    page_->sleepers.fetch_add(1);
    for (;;) {
        uint32_t changes = page_->changes.load();
        if (complete_or_abandoned(number)) break;
        constexpr int64_t kLookAgain = 100'000'000;
        futex_wait(page_->changes, changes, kLookAgain, Scope::Shared);
    }
    page_->sleepers.fetch_sub(1);
}

}  // namespace infini::cpu
