// Errors have a code for programs and a message for people.
#pragma once

#include <infini/backend.h>

namespace infini::cpu {

using Error = infinirtError_t;

extern const InfiniHost *host;  // the core's services; set once by infini_backend_open

// Passes the message (a printf format) to the core and returns `code`.
[[gnu::format(printf, 2, 3)]] Error fail(Error code, const char *format, ...);

}  // namespace infini::cpu
