// A copy of memory without gaps that begins at a multiple of 16 bytes: a vector for each thread.
#include "strided_params.h"

using namespace infini;

INFINI_ENTRY(BytesCopyParams, 256, 1) {
    const int64_t vectors = p.bytes / 16, at = grid_thread();
    if (at < vectors) static_cast<uint4 *>(p.to)[at] = static_cast<const uint4 *>(p.from)[at];
    const int64_t rest = vectors * 16 + at;
    if (at < 16 && rest < p.bytes)
        static_cast<char *>(p.to)[rest] = static_cast<const char *>(p.from)[rest];
}
