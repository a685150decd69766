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

void set_mode(uint32_t mode, bool enabled) {
    const uint32_t others = infiniGetModes() & ~mode;
    infiniSetModes(enabled ? others | mode : others);
}

}  // namespace

extern "C" uint32_t infiniGetModes(void) {
    if (modes_of_thread == kUnset) [[unlikely]]
        modes_of_thread = first_modes();
    return modes_of_thread;
}

extern "C" void infiniSetModes(uint32_t modes) { modes_of_thread = modes; }

extern "C" void infiniopSetBatchInvariant(int enabled) {
    set_mode(INFINI_MODE_BATCH_INVARIANT, enabled);
}

extern "C" int infiniopGetBatchInvariant(void) {
    return infiniGetModes() & INFINI_MODE_BATCH_INVARIANT ? 1 : 0;
}

extern "C" void infiniopSetAllowTF32(int enabled) { set_mode(INFINI_MODE_TF32, enabled); }

extern "C" int infiniopGetAllowTF32(void) { return infiniGetModes() & INFINI_MODE_TF32 ? 1 : 0; }

extern "C" void infiniopGetPlanCacheCounts(size_t *kept, size_t *hits, size_t *misses) {
    infini::op::CacheCounts counts = infini::op::plan_cache_counts();
    if (kept) *kept = counts.kept;
    if (hits) *hits = counts.hits;
    if (misses) *misses = counts.misses;
}
