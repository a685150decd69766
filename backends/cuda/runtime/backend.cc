// The back end's tables for the core.
#include <infini/backend.h>

#include <string>

#include "operators.h"
#include "runtime/driver.h"
#include "runtime/forward.h"
#include "vendor.h"

namespace infini::cuda {
namespace {

const InfiniDriver driver = {
    sizeof(InfiniDriver),  // size

    device_info,         // device_info
    device_memory,       // device_memory
    device_synchronize,  // device_synchronize
    device_attribute,    // device_attribute
    peer_access,         // peer_access

    allocate,          // allocate
    release,           // release
    allocate_host,     // allocate_host
    release_host,      // release_host
    register_host,     // register_host
    unregister_host,   // unregister_host
    allocate_managed,  // allocate_managed

    stream_create,       // stream_create
    stream_destroy,      // stream_destroy
    stream_query,        // stream_query
    stream_synchronize,  // stream_synchronize
    submit,              // submit

    event_create,       // event_create
    event_destroy,      // event_destroy
    event_query,        // event_query
    event_synchronize,  // event_synchronize
    event_elapsed,      // event_elapsed

    memory_export,  // memory_export
    memory_import,  // memory_import
    memory_close,   // memory_close
    event_export,   // event_export
    event_import,   // event_import

    nullptr,  // device_query
};

InfiniBackend backend = {
    sizeof(InfiniBackend),  // size
    INFINI_BACKEND_ABI,     // abi
    nullptr,                // name: the vendor's word
    nullptr,                // vendor: the vendor's name
    INFINI_VERSION,         // version
    nullptr,                // probe
    &driver,                // driver
    forwarded,              // function
    &operators,             // operators
};

int probe_and_say(char *reason, size_t reason_bytes) {
    int count = probe(reason, reason_bytes);
    if (count > 0) find_vendor_functions();
    backend.version = versions();
    return count;
}

}  // namespace
}  // namespace infini::cuda

extern "C" __attribute__((visibility("default"))) const InfiniBackend *infini_backend_open(
    const InfiniHost *offered) {
    using namespace infini::cuda;
    set_host(offered);
    backend.name = vendor.kind;
    backend.vendor = vendor.vendor;
    backend.probe = probe_and_say;
    if (!vendor.forwards) backend.function = nullptr;
    return offered->abi == INFINI_BACKEND_ABI ? &backend : nullptr;
}

// For `infini doctor`: the table's unconfirmed names, one per line.
extern "C" __attribute__((visibility("default"))) const char *infini_backend_unverified() {
    static const std::string text = [] {
        std::string lines;
        for (auto name = infini::cuda::vendor.unverified; name && *name; ++name)
            lines += std::string(*name) + "\n";
        return lines;
    }();
    return text.c_str();
}
