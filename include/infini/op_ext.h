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

/* Batch-invariant mode of the calling thread: operators described in it give each row the same bits
 * whatever else is in the batch, and whatever the number of threads. It begins as the environment
 * variable INFINI_BATCH_INVARIANT says (1 or 0, which is the default). docs/reproducibility.md lists
 * the operators. */
INFINI_EXPORT void infiniopSetBatchInvariant(int enabled);
INFINI_EXPORT int infiniopGetBatchInvariant(void);

#ifdef __cplusplus
}
#endif
#endif
