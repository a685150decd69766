// Finding back ends: in the package, in INFINI_BACKEND_PATH, or named by the program.
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "call.h"
#include "device_names.h"
#include "environment.h"
#include "infinicore.h"
#include "loader.h"
#include "stream.h"

namespace infini::rt {
namespace {

struct Answer {
    std::mutex mutex;
    std::condition_variable changed;
    bool given = false;
    Probed probed;
};

// A probe with a time limit, in a thread of its own. A thread that hangs is abandoned: it may hold
// any lock, so nothing waits for it.
Probed probe_in_time(const InfiniBackend &table) {
    auto answer = std::make_shared<Answer>();
    try {
        std::thread([answer, &table] {
            Probed probed = probe(table);
            std::lock_guard lock(answer->mutex);
            answer->probed = std::move(probed);
            answer->given = true;
            answer->changed.notify_one();
        }).detach();
    } catch (const std::system_error &) {
        return probe(table);  // no thread could be created
    }
    std::unique_lock lock(answer->mutex);
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(probe_seconds());
    if (answer->changed.wait_until(lock, deadline, [&] { return answer->given; }))
        return answer->probed;
    return {0, hung_in_probe()};
}

constexpr int kCpu = INFINI_DEVICE_CPU;  // the device that always exists

// Called by back ends, so it must not throw: without memory the message is dropped.
void explain(const char *sentence) try {
    Thread::current().explanation = sentence ? sentence : "";
} catch (...) {
}

const InfiniHost kHost{sizeof(InfiniHost), INFINI_BACKEND_ABI, explain};

// Leaked, because it may be needed during process exit.
struct Found {
    ForkSafeMutex mutex{LockRank::Loader};
    bool loaded = false;
    std::vector<Backend *> list;
};

Found &found() {
    static auto *instance = new Found;
    return *instance;
}

std::string library_folder() {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(&explain), &info) || !info.dli_fname) return ".";
    char *real = realpath(info.dli_fname, nullptr);
    std::string path = real ? real : info.dli_fname;
    free(real);
    return path.substr(0, path.rfind('/'));
}

std::vector<std::string> libraries_in(const std::string &folder) {
    std::vector<std::string> paths;
    if (DIR *directory = opendir(folder.c_str())) {
        while (dirent *entry = readdir(directory)) {
            std::string name = entry->d_name;
            if (name.size() > 3 && name.ends_with(".so")) paths.push_back(folder + "/" + name);
        }
        closedir(directory);
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

int kind_of(const std::string &name, const std::vector<Backend *> &list) {
    int kind = device_kind_value(name.c_str());
    if (kind >= 0) return kind;
    // A device type missing from the first-generation enum gets a number after its last value.
    kind = INFINI_DEVICE_TYPE_COUNT + 1;
    for (const Backend *other : list) kind = std::max(kind, other->kind + 1);
    return kind;
}

// A table that lacks a required entry is not used; the reason is kept, and the devices remain
// usable.
void use_operators(Backend &backend, const InfiniOperators *table) {
    if (!table) return;
    memcpy(&backend.operator_table, table, std::min(table->size, sizeof backend.operator_table));
    const InfiniOperators &copy = backend.operator_table;
    if (copy.plan && copy.hold && copy.drop)
        backend.operators = &copy;
    else
        backend.reason = "its table of operators lacks an entry of plan, hold and drop";
}

// The CPU's probe needs no thread because it calls no driver.
Probed probe_unless_cpu(const InfiniBackend &table) {
    return device_kind_value(table.name) == kCpu ? probe(table) : probe_in_time(table);
}

// Caller holds the mutex.
Backend *add(const std::string &place, bool ours) {
    char *real = realpath(place.c_str(), nullptr);
    std::string path = real ? real : place;
    free(real);
    auto &list = found().list;
    Backend *backend = nullptr;
    for (Backend *known : list)
        if (known->path == path) backend = known;
    // A failed one may be tried again: its file may exist by now.
    if (backend && !backend->devices.empty()) return backend;
    bool known_before = backend != nullptr;
    if (!backend) backend = new Backend;
    backend->path = path;
    std::string trouble;
    if (!ours) trouble = probe_in_child(library_folder() + "/infini-probe", path);
    OpenedBackend opened;
    if (trouble.empty()) {
        opened = open_backend(path, kHost, probe_unless_cpu);
    } else {
        opened.name = file_name(path);
        opened.reason = trouble;
    }
    backend->name = opened.name;
    backend->reason = opened.reason;
    if (opened.reason == hung_in_probe())
        fprintf(stderr, "infinicore: warning: the back end %s is not used: it %s\n", path.c_str(),
                opened.reason.c_str());
    bool usable = opened.devices > 0;
    if (opened.table) {
        if (opened.table->vendor) backend->vendor = opened.table->vendor;
        if (opened.table->version) backend->version = opened.table->version;
        for (const Backend *known : list) {
            if (known->name != opened.name || known->devices.empty()) continue;
            backend->reason = "a back end of this name is already loaded from " + known->path;
            usable = false;
        }
    }
    backend->kind = kind_of(backend->name, list);
    if (usable) {
        backend->driver = opened.driver;
        const InfiniBackend &table = *opened.table;
        auto has = [&](size_t offset) { return table.size >= offset + sizeof(void *); };
        bool has_functions = has(offsetof(InfiniBackend, function)) && table.function;
        if (has(offsetof(InfiniBackend, operators))) use_operators(*backend, table.operators);
        for (size_t i = 0; has_functions && i < kFunctionCount; ++i) {
            const char *name = function_word(static_cast<Function>(i));
            backend->own[i] = table.function(name);
        }
        backend->own_handles = backend->own[size_t(Function::StreamCreate)];
        for (int i = 0; i < opened.devices; ++i)
            backend->devices.push_back(std::make_unique<Device>(*backend, i));
    }
    if (!known_before) list.push_back(backend);
    return backend;
}

// Caller holds the mutex.
void load_once() {
    if (found().loaded) return;
    found().loaded = true;
    for (const std::string &path : libraries_in(library_folder() + "/backends")) add(path, true);
    auto &list = found().list;
    std::stable_sort(list.begin(), list.end(), [](const Backend *a, const Backend *b) {
        return (a->kind == kCpu) > (b->kind == kCpu);
    });
    const char *variable = getenv("INFINI_BACKEND_PATH");
    std::string rest = variable ? variable : "";
    while (!rest.empty()) {
        size_t colon = rest.find(':');
        std::string place = rest.substr(0, colon);
        rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
        if (place.empty()) continue;
        struct stat status;
        const bool exists = stat(place.c_str(), &status) == 0;
        if (!exists)
            warn_of_setting(
                "INFINI_BACKEND_PATH",
                ignored_setting("INFINI_BACKEND_PATH", "files and folders; there is no " + place));
        if (exists && S_ISDIR(status.st_mode))
            for (const std::string &path : libraries_in(place)) add(path, false);
        else
            add(place, false);  // a missing file gets its reason from the loader
    }
    install_fork_handlers();
}

struct Choice {
    Backend *backend = nullptr;
    std::string problem;
};

Choice choose() {
    Choice choice;
    std::vector<Backend *> list = backends();
    if (const char *wanted = getenv("INFINI_DEVICE"); wanted && *wanted) {
        choice.problem = std::string("INFINI_DEVICE=") + wanted + ": ";
        Backend *backend = find_backend(std::string(wanted));
        if (backend && !backend->devices.empty()) {
            choice.backend = backend;
        } else if (backend) {
            choice.problem += "no such device here: " + backend->reason;
        } else {
            choice.problem += "no back end of that kind was found; there are:";
            for (const Backend *other : list) choice.problem += " " + other->name;
        }
        return choice;
    }
    for (Backend *backend : list) {
        if (backend->devices.empty()) continue;
        if (!choice.backend || (choice.backend->kind == kCpu && backend->kind != kCpu))
            choice.backend = backend;
    }
    if (!choice.backend) {
        choice.problem = "no device of any kind can be used:";
        for (const Backend *other : list)
            choice.problem += " " + other->name + " (" + other->reason + ")";
        if (list.empty())
            choice.problem += " no back end lies in " + library_folder() + "/backends";
    }
    return choice;
}

}  // namespace

Device::Device(Backend &backend, int index) : backend(backend), index(index) {
    info.size = sizeof info;
    if (backend.driver.device_info(index, &info) != infinirtSuccess) info.name[0] = '\0';
    info.name[sizeof info.name - 1] = '\0';
    legacy = std::make_unique<Stream>(*this, nullptr, infinirtStreamDefault, 0, true);
}

std::vector<Backend *> backends() {
    std::lock_guard lock(found().mutex);
    load_once();
    return found().list;
}

Backend *load_backend(const std::string &path) {
    std::lock_guard lock(found().mutex);
    load_once();
    return add(path, false);
}

Backend *find_backend(const std::string &name) {
    Backend *result = nullptr;
    for (Backend *backend : backends())
        if (backend->name == name && (!result || result->devices.empty())) result = backend;
    return result;
}

Backend *find_backend(int kind) {
    Backend *result = nullptr;
    for (Backend *backend : backends())
        if (backend->kind == kind && (!result || result->devices.empty())) result = backend;
    return result;
}

Backend *default_backend() { return choose().backend; }

std::string default_backend_problem() { return choose().problem; }

}  // namespace infini::rt
