// Copies that go on by themselves: cp.async. What is copied arrives at the last moment, when the
// thread waits for it, so that reading too early shows.
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
// Until at most `pending` groups of this thread are on their way.
inline void cp_async_wait(unsigned pending) { state.services.wait_copies(pending); }
inline void cp_async_wait_all() {
    state.services.commit();
    state.services.wait_copies(0);
}

}  // namespace simulated
