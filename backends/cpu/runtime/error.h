// Errors carry a code for programs and one sentence for people.
#pragma once

#include <infini/backend.h>

namespace infini::cpu {

using Error = infinirtError_t;

extern const InfiniHost *host;  // what the core offers; set once by infini_backend_open

// Hands the sentence (a printf format) to the core and returns `code`.
[[gnu::format(printf, 2, 3)]] Error fail(Error code, const char *format, ...);

}  // namespace infini::cpu
