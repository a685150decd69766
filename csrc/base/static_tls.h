// Thread-local variables that every call reads.
#pragma once

// Places the variable in static TLS, so that access takes an instruction or two instead of a call.
// Only for small variables of our own: as a compiler flag for whole files (-ftls-model) it would
// also affect those of libstdc++, which cannot be moved there if another library has used them
// first, and loading our library would fail.
#define INFINI_STATIC_TLS __attribute__((tls_model("initial-exec")))
