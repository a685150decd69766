// Functions besides the operators: plan cache statistics, and the modes of a thread.
#include "core.h"
#include "environment.h"
#include "infini/op_ext.h"
#include "static_tls.h"

namespace {

constexpr uint32_t kUnset = ~0u;
INFINI_STATIC_TLS constinit thread_local uint32_t modes_of_thread = kUnset;

uint32_t first_modes() {
    static const bool invariant = infini::read_choice("INFINI_BATCH_INVARIANT", {"0", "1"}) == "1";
    return invariant ? INFINI_MODE_BATCH_INVARIANT : 0;
}

}  // namespace

extern "C" uint32_t infiniGetModes(void) {
    if (modes_of_thread == kUnset) [[unlikely]]
        modes_of_thread = first_modes();
    return modes_of_thread;
}

extern "C" void infiniSetModes(uint32_t modes) { modes_of_thread = modes; }

extern "C" void infiniopSetBatchInvariant(int enabled) {
    const uint32_t others = infiniGetModes() & ~INFINI_MODE_BATCH_INVARIANT;
    infiniSetModes(enabled ? others | INFINI_MODE_BATCH_INVARIANT : others);
}

extern "C" int infiniopGetBatchInvariant(void) {
    return infiniGetModes() & INFINI_MODE_BATCH_INVARIANT ? 1 : 0;
}

extern "C" void infiniopGetPlanCacheCounts(size_t *kept, size_t *hits, size_t *misses) {
    infini::op::CacheCounts counts = infini::op::plan_cache_counts();
    if (kept) *kept = counts.kept;
    if (hits) *hits = counts.hits;
    if (misses) *misses = counts.misses;
}
