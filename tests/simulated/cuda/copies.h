// Asynchronous copies: cp.async. The data arrives as late as possible, when the thread waits for
// it, so that reading too early is detected.
#pragma once

#include "barriers.h"
#include "checks.h"

namespace simulated {

// `bytes` of 4, 8 or 16, of which the first `valid` are read and the others become 0.
template <int bytes>
inline void cp_async(void *shared, const void *from, int valid = bytes) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16);
    if (size_t(shared) % bytes || (valid && size_t(from) % bytes))
        fail("cp.async with a misaligned address");
#ifdef INFINI_SIMULATED_CHECK
    look(size_t(shared), bytes, true);
    if (valid) look(size_t(from), size_t(valid), false);
#endif
    state.services.copy(shared, from, bytes, unsigned(valid));
}
inline void cp_async_commit() { state.services.commit(); }
// Waits until at most `pending` groups of this thread are in flight.
inline void cp_async_wait(unsigned pending) { state.services.wait_copies(pending); }
inline void cp_async_wait_all() {
    state.services.commit();
    state.services.wait_copies(0);
}

// A prefetch: the memory must be valid, but there is no cache.
inline void prefetch([[maybe_unused]] const void *from, int bytes) {
    if (size_t(from) % 16 || bytes % 16) fail("a prefetch with a misaligned address or size");
#ifdef INFINI_SIMULATED_CHECK
    look(size_t(from), size_t(bytes), false);
#endif
}

// TMA copies: a box of a tensor of 16-bit elements, as described by this simulation's
// cuTensorMapEncodeTiled (driver.cc), to rows of 128 bytes whose 16-byte chunks are swizzled. The
// data arrives immediately; kernels must not rely on that, and see no difference if they wait as
// required.
struct TensorBox {
    unsigned long long memory, size[4], stride[4], box[4];  // strides in bytes
};
inline void copy_box(void *shared, const void *map, int x, int y, int z, int w) {
    const TensorBox &t = *static_cast<const TensorBox *>(map);
    if (size_t(shared) % 128 || t.box[0] != 64) fail("a bulk copy with a misaligned address");
    const long long place[4] = {x, y, z, w};
    unsigned char *to = static_cast<unsigned char *>(shared);
    auto inside = [&](int i, unsigned long long at) {
        const long long index = place[i] + (long long)at;
        return index >= 0 && index < (long long)t.size[i];
    };
    unsigned long long row = 0;
    for (unsigned long long d = 0; d < t.box[3]; ++d)
        for (unsigned long long c = 0; c < t.box[2]; ++c)
            for (unsigned long long b = 0; b < t.box[1]; ++b, ++row)
                for (unsigned long long a = 0; a < 64; ++a) {
                    unsigned char *target = to + row * 128 + a * 2;
                    const size_t at = size_t(target);
                    target += (at & ~size_t(0x70)) + ((at ^ (at >> 3)) & 0x70) - at;
#ifdef INFINI_SIMULATED_CHECK
                    look(size_t(target), 2, true);
#endif
                    target[0] = target[1] = 0;
                    if (!(inside(0, a) && inside(1, b) && inside(2, c) && inside(3, d))) continue;
                    const size_t from = t.memory + (place[0] + a) * 2 +
                                        (place[1] + b) * t.stride[1] +
                                        (place[2] + c) * t.stride[2] + (place[3] + d) * t.stride[3];
#ifdef INFINI_SIMULATED_CHECK
                    look(from, 2, false);
#endif
                    const unsigned char *source = reinterpret_cast<const unsigned char *>(from);
                    target[0] = source[0], target[1] = source[1];
                }
}

}  // namespace simulated
