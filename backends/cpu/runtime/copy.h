// Copying and filling memory: boxes of bytes, with several threads if worthwhile.
#pragma once

#include <infini/backend.h>

#include <cstring>

#include "../operators.h"

namespace infini::cpu {

void copy_box(const InfiniCopy &work);
void fill_box(const InfiniFill &work);

constexpr size_t kPlainCopy = 256 << 10;  // up to here one thread is fastest

// memmove, because a client may pass overlapping ranges by mistake, which are undefined for memcpy.
inline void copy(const InfiniCopy &work) {
    if (work.height == 1 && work.depth == 1 && work.width <= kPlainCopy) [[likely]]
        std::memmove(work.dst, work.src, work.width);
    else
        copy_box(work);
}

inline void fill(const InfiniFill &work) {
    if (work.element == 1 && work.height == 1 && work.depth == 1 && work.width <= kPlainCopy)
        [[likely]]
        std::memset(work.dst, int(work.value & 0xff), work.width);
    else
        fill_box(work);
}

// A copy, a fill or a kernel.
inline void perform(const InfiniWork &work) {
    if (work.kind == INFINI_WORK_COPY)
        copy(work.as.copy);
    else if (work.kind == INFINI_WORK_KERNEL)
        run_kernel(work.as.kernel);
    else
        fill(work.as.fill);
}

// One of these that takes some 10 microseconds at most.
inline bool is_short(const InfiniWork &work) {
    const InfiniCopy &copy = work.as.copy;
    const InfiniFill &fill = work.as.fill;
    if (work.kind == INFINI_WORK_COPY) [[likely]]
        return copy.width <= kPlainCopy && copy.height == 1 && copy.depth == 1;
    if (work.kind == INFINI_WORK_KERNEL) return is_short(work.as.kernel);
    return work.kind == INFINI_WORK_FILL && fill.width <= kPlainCopy / 4 && fill.height == 1 &&
           fill.depth == 1;
}

}  // namespace infini::cpu
