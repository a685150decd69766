#include "comm.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "failures.h"

namespace infini::ccl {
namespace {

struct Handles {
    std::mutex lock;
    std::unordered_map<infinicclComm_t, CommPointer> live;
    uintptr_t made = 0;

    static Handles &get() {
        static auto *handles = new Handles;
        return *handles;
    }
};

}  // namespace

const InfiniCollectives *collectives_of(const InfiniTarget &target) {
    struct Found {
        bool there = false;
        InfiniCollectives table{};  // entries beyond the library's own table are null
    };
    static std::mutex lock;
    static auto &known = *new std::unordered_map<std::string, Found>;
    std::lock_guard guard(lock);
    auto [at, is_new] = known.try_emplace(infiniLibraryOf(&target));
    if (is_new) {
        // The core has already opened it, and never closes it.
        void *library = dlopen(at->first.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        auto open =
            library
                ? reinterpret_cast<InfiniCollectivesOpen>(dlsym(library, INFINI_COLLECTIVES_OPEN))
                : nullptr;
        if (const InfiniCollectives *table = open ? open() : nullptr) {
            std::memcpy(&at->second.table, table, std::min(table->size, sizeof *table));
            at->second.there = at->second.table.run || at->second.table.submit;
        }
    }
    return at->second.there ? &at->second.table : nullptr;
}

infinicclComm_t add_handle(CommPointer comm) {
    Handles &handles = Handles::get();
    std::lock_guard guard(handles.lock);
    // Never reused: a recorded graph may hold the number longer than the communicator lives.
    auto handle = reinterpret_cast<infinicclComm_t>(++handles.made);
    report_failures_of(*comm);
    handles.live[handle] = std::move(comm);
    return handle;
}

CommPointer find_handle(infinicclComm_t handle) {
    Handles &handles = Handles::get();
    std::lock_guard guard(handles.lock);
    auto found = handles.live.find(handle);
    return found == handles.live.end() ? nullptr : found->second;
}

CommPointer take_handle(infinicclComm_t handle) {
    Handles &handles = Handles::get();
    std::lock_guard guard(handles.lock);
    auto found = handles.live.find(handle);
    if (found == handles.live.end()) return nullptr;
    CommPointer comm = std::move(found->second);
    handles.live.erase(found);
    return comm;
}

std::vector<CommPointer> live_handles() {
    Handles &handles = Handles::get();
    std::lock_guard guard(handles.lock);
    std::vector<CommPointer> all;
    for (const auto &[handle, comm] : handles.live) all.push_back(comm);
    return all;
}

Comm::~Comm() {
    if (communicator) table().leave(communicator);
}

void Comm::begin() { ++pending; }

bool Comm::begin_in(void *stream) {
    std::lock_guard guard(lock);
    if (!used || last_stream != stream) return false;
    ++pending;
    return true;
}

bool Comm::run(const InfiniCollective *work, size_t count, bool composed) {
    const int code = table().run(communicator, work, count);
    if (code == INFINI_STATUS_SUCCESS) return true;
    if (code == INFINI_STATUS_NOT_IMPLEMENTED && !composed) return false;
    std::string sentence;
    status(&sentence);
    fail(infiniStatus_t(code), sentence);
    note_failure(shared_from_this());
    return true;
}

void Comm::end() {
    if (--pending > 0) return;  // the usual case takes no lock
    std::lock_guard guard(lock);
    idle.notify_all();
}

void Comm::fail(infiniStatus_t status, const std::string &sentence) {
    std::lock_guard guard(lock);
    if (failure != INFINI_STATUS_SUCCESS) return;
    failure = status;
    reason = sentence;
}

void Comm::wait_until_idle() {
    std::unique_lock guard(lock);
    idle.wait(guard, [this] { return pending == 0; });
}

infiniStatus_t Comm::status(std::string *sentence) {
    {
        std::lock_guard guard(lock);
        if (failure != INFINI_STATUS_SUCCESS) {
            *sentence = reason;
            return failure;
        }
    }
    if (!table().state) return INFINI_STATUS_SUCCESS;
    char text[512];
    text[0] = 0;
    const int status = table().state(communicator, text, sizeof text);
    *sentence = text;
    return infiniStatus_t(status);
}

}  // namespace infini::ccl
