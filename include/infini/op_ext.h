/* What InfiniOP offers beyond the operators. */
#ifndef INFINI_OP_EXT_H
#define INFINI_OP_EXT_H

#include <stddef.h>

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Equal operations share a plan: how many plans are kept, and how many create calls found theirs. */
INFINI_EXPORT void infiniopGetPlanCacheCounts(size_t *kept, size_t *hits, size_t *misses);

#ifdef __cplusplus
}
#endif
#endif
