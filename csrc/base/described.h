/* What libinfinicore uses of libinfiniop beyond its public functions: operators are described by
 * layouts, without handles and tensor descriptors, and programs are fused. Not installed. */
#ifndef INFINI_DESCRIBED_H
#define INFINI_DESCRIBED_H

#include <infini/backend.h>
#include <infini/program.h>

#include "launch.h"
#include "value.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A descriptor, and what it was made of. It all lives as long as the descriptor. */
typedef struct InfiniDescribed {
    struct InfiniopDescriptor *descriptor;
    const InfiniAttribute *attributes;
    size_t attribute_count;
    const InfiniProgram *program; /* null: a kernel of its own does it */
    struct InfiniPlan *plan;      /* null: it is lowered to a sequence of others */
    size_t workspace;
} InfiniDescribed;

/* Checks and plans the operator of that number (in alphabetical order), as its create function
 * does. `tensors` have a dtype of 0 where they are absent; `tensor_counts` says how many belong to
 * each declared one. `list_counts` says how many elements the list of each attribute has. */
INFINI_EXPORT infiniStatus_t infiniDescribe(int number, const InfiniTarget *target,
                                            const InfiniTensor *tensors,
                                            const size_t *tensor_counts,
                                            const InfiniValue *attributes,
                                            const size_t *list_counts, InfiniDescribed *described);
INFINI_EXPORT void infiniDropDescriptor(struct InfiniopDescriptor *descriptor);

/* The modes in which the calling thread describes operators, see InfiniOperation. */
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

/* Null when the two can't be one. */
INFINI_EXPORT InfiniFused *infiniFuse(const InfiniProgram *first, const InfiniProgram *second,
                                      const InfiniJoin *join);
INFINI_EXPORT const InfiniProgram *infiniFusedProgram(const InfiniFused *fused);
INFINI_EXPORT void infiniDropFused(InfiniFused *fused);

/* The program that gives back what a kernel leaves in its tensor 0: joined with what follows the
 * kernel, it makes the kernel's epilogue (see InfiniOperation). */
INFINI_EXPORT const InfiniProgram *infiniKernelResult(void);

/* The program that copies tensor 1 to tensor 0. */
INFINI_EXPORT const InfiniProgram *infiniCopy(void);

#ifdef __cplusplus
}
#endif
#endif
