// What a thread keeps and every call reads.
#pragma once

// The variable lies in the threads' static storage: its address is an instruction or two, no call.
// For small ones of our own only: given to the compiler for whole files (-ftls-model) it would take
// those of libstdc++ along, which cannot be moved there any more if another library has used them
// first, and loading ours would fail.
#define INFINI_STATIC_TLS __attribute__((tls_model("initial-exec")))
