#include "loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>

#include "environment.h"

extern char **environ;

namespace infini::rt {
namespace {

constexpr size_t kVerdictBytes = 64 << 10;  // a library may print while it is probed
constexpr int kProbeSeconds = 5;
constexpr int kEndMilliseconds = 500;  // for a killed child to end: a hung driver may prevent it

struct Required {
    size_t offset;
    const char *name;
};

// The entries that the contract does not mark (optional).
#define REQUIRED(entry) {offsetof(InfiniDriver, entry), #entry}
constexpr Required kRequired[] = {
    REQUIRED(device_info),    REQUIRED(device_memory),     REQUIRED(device_synchronize),
    REQUIRED(allocate),       REQUIRED(release),           REQUIRED(stream_create),
    REQUIRED(stream_destroy), REQUIRED(stream_query),      REQUIRED(stream_synchronize),
    REQUIRED(submit),         REQUIRED(event_create),      REQUIRED(event_destroy),
    REQUIRED(event_query),    REQUIRED(event_synchronize), REQUIRED(event_elapsed),
};
#undef REQUIRED

std::string missing_entries(const InfiniDriver &driver) {
    std::string missing;
    for (const Required &entry : kRequired) {
        void *function = nullptr;
        memcpy(&function, reinterpret_cast<const char *>(&driver) + entry.offset, sizeof function);
        if (!function) missing += (missing.empty() ? "" : ", ") + std::string(entry.name);
    }
    return missing;
}

std::string check_table(const InfiniBackend *table) {
    if (!table) return "infini_backend_open returned null: it cannot work with this core";
    // Sizes and version come first at fixed offsets, so they can be read in any version.
    if (table->abi != INFINI_BACKEND_ABI)
        return "built for version " + std::to_string(table->abi) +
               " of the back-end contract, this core has version " +
               std::to_string(INFINI_BACKEND_ABI) +
               (table->abi > INFINI_BACKEND_ABI ? ": install a newer infinicore"
                                                : ": rebuild the back end");
    if (table->size < offsetof(InfiniBackend, function))
        return "its InfiniBackend table has " + std::to_string(table->size) +
               " bytes, too few for the entries that the contract requires: rebuild it with the "
               "installed infini/backend.h";
    if (!table->name || !*table->name) return "its InfiniBackend table has no name";
    if (!table->probe) return "its InfiniBackend table lacks the entry probe";
    if (!table->driver) return "its InfiniBackend table lacks the entry driver";
    return "";
}

}  // namespace

std::string file_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

int probe_seconds() { return int(read_setting({"INFINI_PROBE_SECONDS", 1, 3600}, kProbeSeconds)); }

std::string hung_in_probe() {
    return "hung in its probe (no answer in " + std::to_string(probe_seconds()) +
           " s; INFINI_PROBE_SECONDS changes that)";
}

Probed probe(const InfiniBackend &table) {
    char reason[512] = "";
    int devices = std::max(table.probe(reason, sizeof reason), 0);
    reason[sizeof reason - 1] = '\0';
    return {devices, *reason || devices > 0 ? reason : "no device found"};
}

OpenedBackend open_backend(const std::string &path, const InfiniHost &host,
                           Probed (*probe_table)(const InfiniBackend &)) {
    OpenedBackend opened;
    opened.name = file_name(path);
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        opened.reason = std::string("cannot be opened: ") + dlerror();
        return opened;
    }
    auto open = reinterpret_cast<InfiniBackendOpen>(dlsym(library, INFINI_BACKEND_OPEN));
    if (!open) {
        opened.reason = "exports no " INFINI_BACKEND_OPEN ": it is no back end";
        return opened;
    }
    const InfiniBackend *table = open(&host);
    opened.reason = check_table(table);
    if (!opened.reason.empty()) return opened;
    opened.name = table->name;

    memcpy(&opened.driver, table->driver, std::min(table->driver->size, sizeof opened.driver));
    std::string missing = missing_entries(opened.driver);
    if (!missing.empty()) {
        opened.reason = "its driver table lacks required entries: " + missing;
        return opened;
    }
    Probed probed = probe_table(*table);
    opened.devices = probed.devices;
    opened.reason = probed.reason;
    opened.table = table;
    return opened;
}

std::string probe_in_child(const std::string &program, const std::string &path) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string arguments[] = {program, path};
    char *argv[] = {arguments[0].data(), arguments[1].data(), nullptr};
    pid_t child = 0;
    int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return std::string("cannot be probed: ") + program + ": " + strerror(failed);
    }
    // The child prints its verdict on one line; end of file without one means that it died or was
    // told to stop.
    std::string verdict;
    bool in_time = true;
    char buffer[512];
    using Clock = std::chrono::steady_clock;
    auto deadline = Clock::now() + std::chrono::seconds(probe_seconds());
    for (;;) {
        auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd wait = {ends[0], POLLIN, 0};
        int ready = left > 0 ? poll(&wait, 1, int(left)) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            if (!in_time) break;
            in_time = false;
            kill(child, SIGKILL);
            deadline = Clock::now() + std::chrono::milliseconds(kEndMilliseconds);
            continue;
        }
        ssize_t got = read(ends[0], buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        verdict.append(buffer, got);
        if (verdict.size() > kVerdictBytes) verdict.erase(0, verdict.size() - kVerdictBytes);
    }
    close(ends[0]);
    int status = 0;
    if (!in_time) {
        // A child that is blocked in the kernel by a driver is left running.
        waitpid(child, &status, WNOHANG);
        return hung_in_probe();
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFSIGNALED(status))
        return std::string("crashed in its probe: ") + strsignal(WTERMSIG(status));
    if (verdict.find("infini-probe: done") == std::string::npos)
        return "ended its process in its probe (exit code " + std::to_string(WEXITSTATUS(status)) +
               ")";
    return "";
}

}  // namespace infini::rt
