// An external back end for simulated hardware, built against the installed headers alone.
//
// A copy of the library under another file name acts as an old or a broken one, for the tests of
// how back ends are checked.
#include "simulated.h"

namespace {

// ---- Functions of its own: one that the core cannot serve, one that it would serve otherwise ----

infinirtError_t own_func_get_name(const char **name, const void *) {
    *name = "a simulated kernel";
    return infinirtSuccess;
}

infinirtError_t own_device_get_limit(size_t *value, enum infinirtLimit) {
    *value = 4711;
    return infinirtSuccess;
}

void *function(const char *name) {
    if (std::strcmp(name, "FuncGetName") == 0) return reinterpret_cast<void *>(own_func_get_name);
    if (std::strcmp(name, "DeviceGetLimit") == 0)
        return reinterpret_cast<void *>(own_device_get_limit);
    return nullptr;
}

// ---- The tables, and how they are spoilt -------------------------------------------------------

InfiniDriver driver = {};
InfiniBackend backend = {};

void spoil() {
    if (variant("-old")) {
        // Built before the optional ends of both tables existed: memory after them is not part of
        // the tables.
        driver.size = offsetof(InfiniDriver, memory_export);
        driver.memory_export = reinterpret_cast<decltype(driver.memory_export)>(1);
        driver.event_import = reinterpret_cast<decltype(driver.event_import)>(1);
        backend.size = offsetof(InfiniBackend, function);
        backend.function = reinterpret_cast<decltype(backend.function)>(1);
    }
    if (variant("-larger")) {
        // Built with a newer header, whose tables have entries unknown to this core.
        driver.size = sizeof driver + 64;
        backend.size = sizeof backend + 64;
    }
    if (variant("-small")) backend.size = 24;
    if (variant("-lacking")) driver.submit = nullptr, driver.event_elapsed = nullptr;
    if (const char *number = variant("-abi"))
        backend.abi = static_cast<uint32_t>(std::atoi(number));
    if (variant("-cpu")) backend.name = "cpu";
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const InfiniBackend *infini_backend_open(
    const InfiniHost *given) {
    if (variant("-refusing")) return nullptr;
    host = given;
    driver.size = sizeof driver;
    driver.device_info = device_info;
    driver.device_memory = device_memory;
    driver.device_synchronize = device_synchronize;
    driver.allocate = allocate;
    driver.release = release;
    driver.stream_create = stream_create;
    driver.stream_destroy = stream_destroy;
    driver.stream_query = stream_query;
    driver.stream_synchronize = stream_synchronize;
    driver.submit = submit;
    driver.event_create = event_create;
    driver.event_destroy = event_destroy;
    driver.event_query = event_query;
    driver.event_synchronize = event_synchronize;
    driver.event_elapsed = event_elapsed;
    backend = {sizeof backend, INFINI_BACKEND_ABI, "sample", "the tests", "1.2.3", probe,
               &driver,        function,           nullptr};
    spoil();
    return &backend;
}
