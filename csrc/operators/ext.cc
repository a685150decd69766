// Beyond the operators themselves: a look into the plan cache.
#include "core.h"
#include "infini/op_ext.h"

extern "C" void infiniopGetPlanCacheCounts(size_t *kept, size_t *hits, size_t *misses) {
    infini::op::CacheCounts counts = infini::op::plan_cache_counts();
    if (kept) *kept = counts.kept;
    if (hits) *hits = counts.hits;
    if (misses) *misses = counts.misses;
}
