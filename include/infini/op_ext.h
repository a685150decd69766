/* Functions of InfiniOP other than operators. */
#ifndef INFINI_OP_EXT_H
#define INFINI_OP_EXT_H

#include <stddef.h>

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Equal operations share a cached plan: the number of plans, and the cache hits and misses. */
INFINI_EXPORT void infiniopGetPlanCacheCounts(size_t *kept, size_t *hits, size_t *misses);

/* Batch-invariant mode of the calling thread: descriptors created in it compute each row with
 * the same bits whatever else is in the batch, and with any number of threads. The initial value is
 * that of the environment variable INFINI_BATCH_INVARIANT (1 or 0; default 0).
 * docs/reproducibility.md lists the operators. */
INFINI_EXPORT void infiniopSetBatchInvariant(int enabled);
INFINI_EXPORT int infiniopGetBatchInvariant(void);

/* Whether descriptors created by the calling thread may round the factors of F32 products to TF32
 * (11 significant bits), which is faster on devices with TF32 tensor cores; initially not. */
INFINI_EXPORT void infiniopSetAllowTF32(int enabled);
INFINI_EXPORT int infiniopGetAllowTF32(void);

#ifdef __cplusplus
}
#endif
#endif
