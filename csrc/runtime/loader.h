// Opens a back-end library and decides whether it can be used.
#pragma once

#include <string>

#include "backend.h"

namespace infini::rt {

struct OpenedBackend {
    const InfiniBackend *table = nullptr;
    InfiniDriver driver{};  // entries beyond the library's own table are null
    int devices = 0;
    std::string name;    // as the library says, else its file name
    std::string reason;  // why it cannot be used or has no device; else a remark, or empty
};

// Makes a back end enumerate its devices: their number, and a reason if there are none.
struct Probed {
    int devices = 0;
    std::string reason;
};
Probed probe(const InfiniBackend &table);

// Never throws, never keeps a half-opened library in use. Calls the library's own code: a crash
// there crashes this process.
OpenedBackend open_backend(const std::string &path, const InfiniHost &host,
                           Probed (*probe_table)(const InfiniBackend &) = probe);

// The same in a child process (the program infini-probe next to this library), for third-party
// libraries. Empty if the library behaved; else why it must not be opened here.
std::string probe_in_child(const std::string &program, const std::string &path);

// The time limit for a probe: INFINI_PROBE_SECONDS, else 5.
int probe_seconds();
std::string hung_in_probe();  // the reason why a back end is not used that took longer

std::string file_name(const std::string &path);

}  // namespace infini::rt
