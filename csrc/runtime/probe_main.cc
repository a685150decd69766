// infini-probe LIBRARY: opens a back end in a separate process, so that a crash in it does no harm.
//
// Any answer of the library is success here: the caller opens it again and reports the reason
// itself.
#include <cstdio>
#include <cstring>

#include "loader.h"

int main(int count, char **arguments) {
    if (count != 2 || std::strcmp(arguments[1], "--help") == 0) {
        std::fprintf(stderr,
                     "usage: infini-probe LIBRARY\nTells whether a back-end library can be opened "
                     "and probed.\n");
        return 2;
    }
    InfiniHost host{sizeof(InfiniHost), INFINI_BACKEND_ABI, [](const char *) {}};
    infini::rt::OpenedBackend opened = infini::rt::open_backend(arguments[1], host);
    std::printf("infini-probe: done: %s: %d devices%s%s\n", opened.name.c_str(), opened.devices,
                opened.reason.empty() ? "" : ": ", opened.reason.c_str());
    return 0;
}
