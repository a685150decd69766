/* Functions of libinfiniop for libinfinicore beyond its public ones: describing operators by
 * layouts, without handles and tensor descriptors, and fusing programs. Not installed. */
#ifndef INFINI_OPERATOR_SERVICES_H
#define INFINI_OPERATOR_SERVICES_H

#include <infini/backend.h>
#include <infini/program.h>

#include "launch.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A descriptor and the layouts it was made from, which live as long as it does. */
typedef struct InfiniDescribed {
    struct InfiniopDescriptor *descriptor;
    const InfiniAttribute *attributes;
    size_t attribute_count;
    const InfiniProgram *program; /* null: a kernel of its own does it */
    struct InfiniPlan *plan;      /* null: it is lowered to a sequence of others */
    size_t workspace;
} InfiniDescribed;

/* Checks and plans operator number `op` (in alphabetical order), as its create function does.
 * Absent `tensors` have dtype 0; `tensor_counts` is the number of tensors for each declared one,
 * `list_counts` the number of elements in each attribute's list. */
INFINI_EXPORT infiniStatus_t infiniDescribe(int number, const InfiniTarget *target,
                                            const InfiniTensor *tensors,
                                            const size_t *tensor_counts,
                                            const InfiniValue *attributes,
                                            const size_t *list_counts, InfiniDescribed *described);
INFINI_EXPORT void infiniDropDescriptor(struct InfiniopDescriptor *descriptor);

/* The calling thread's modes for new descriptors, see InfiniOperation. */
INFINI_EXPORT uint32_t infiniGetModes(void);
INFINI_EXPORT void infiniSetModes(uint32_t modes);

/* See csrc/operators/fuse.h. */
typedef struct InfiniLink {
    int output;
    const int *inputs;
    int input_count;
    int keep;
} InfiniLink;

typedef struct InfiniJoin {
    const InfiniLink *links;
    int link_count;
    int tensors, pointers, attributes, scalars;
} InfiniJoin;

typedef struct InfiniFused InfiniFused;

/* Null if the two cannot be fused. */
INFINI_EXPORT InfiniFused *infiniFuse(const InfiniProgram *first, const InfiniProgram *second,
                                      const InfiniJoin *join);
INFINI_EXPORT const InfiniProgram *infiniFusedProgram(const InfiniFused *fused);
INFINI_EXPORT void infiniDropFused(InfiniFused *fused);

/* The program that returns a kernel's tensor 0 unchanged: fused with the map that follows the
 * kernel, it becomes the kernel's epilogue (see InfiniOperation). */
INFINI_EXPORT const InfiniProgram *infiniKernelResult(void);

/* The program that copies tensor 1 to tensor 0. */
INFINI_EXPORT const InfiniProgram *infiniCopy(void);

#ifdef __cplusplus
}
#endif
#endif
