/* Programs: what an operator's definition becomes when the build traces it. A program is plain
 * data; back ends run it with a few engines, and the fuser joins programs by renumbering.
 *
 * A program is a list of phases. A phase goes over an index space (all its tensors, broadcast
 * against each other from the right) and may fold some of its dimensions: the kept dimensions then
 * number the rows, and the folded ones the elements of a row. Its stages run one after the other,
 * each for all elements of a row (or, INFINI_STAGE_ROWS, once for each row), so a stage sees the
 * folds of those before it. Tensors are written only by the last stage of elements, and so may be
 * read in place.
 */
#ifndef INFINI_PROGRAM_H
#define INFINI_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "infini/node_op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum InfiniOperandKind {
    INFINI_OPERAND_TENSOR = 1,    /* a tensor: `index` of the operation, `pointer` of the run */
    INFINI_OPERAND_ATTRIBUTE = 2, /* a number given when the operation was described */
    INFINI_OPERAND_SCALAR = 3,    /* a number given when it runs; `integer` says how */
    INFINI_OPERAND_EXTENT = 4,    /* how many elements the rows of `phase` have */
    INFINI_OPERAND_POSITION = 5, /* the index along dimension `axis`, counted from the end if < 0 */
    INFINI_OPERAND_ELEMENT = 6,  /* a temporary with a value for each element */
    INFINI_OPERAND_ROW = 7 /* one with a value for each row; later phases read it as a tensor */
} InfiniOperandKind;

/* A tensor seen otherwise. */
typedef enum InfiniView {
    INFINI_VIEW_PLAIN = 0,
    INFINI_VIEW_EXPAND = 1, /* with a dimension of size 1 put in at `axis` < 0 */
    INFINI_VIEW_FIRST = 2,  /* the first half of the last dimension */
    INFINI_VIEW_SECOND = 3, /* the second half */
    INFINI_VIEW_ITEM = 4    /* entry `axis` of the last dimension, which stays with size 1 */
} InfiniView;

typedef struct InfiniOperand {
    int16_t kind;
    int16_t index;
    int16_t pointer;
    int16_t integer;
    int16_t phase; /* that makes it: EXTENT, ELEMENT, ROW */
    int16_t view;
    int32_t axis;
} InfiniOperand;

typedef enum InfiniFold {
    INFINI_FOLD_NONE = 0,
    INFINI_FOLD_SUM = 1,
    INFINI_FOLD_PROD = 2,
    INFINI_FOLD_MAX = 3, /* a NaN wins */
    INFINI_FOLD_MIN = 4,
    INFINI_FOLD_ANY = 5, /* of truth values, 0 or 1 */
    INFINI_FOLD_ALL = 6,
    INFINI_FOLD_ARGMAX = 7, /* the first one */
    INFINI_FOLD_ARGMIN = 8
} InfiniFold;

typedef enum InfiniStageKind { INFINI_STAGE_ELEMENTS = 1, INFINI_STAGE_ROWS = 2 } InfiniStageKind;

/* Evaluates a functor. Its results go to operands, or are folded, or both. */
typedef struct InfiniStage {
    int16_t kind;
    int16_t phase;
    int16_t input_count, output_count;
    const int16_t *inputs;  /* numbers of operands */
    const int16_t *outputs; /* numbers of operands; -1: not kept */
    const int16_t *folds;   /* InfiniFold of each output; null: none */
    const int16_t *folded;  /* the ROW operand that takes each fold; -1 where there is none */
    const char *functor;    /* its name; back ends that compile ahead find it by that */
    const char *source;     /* C++: template <class V> struct with eval(const V *x, V *y) */
} InfiniStage;

/* One step of an expression. Truth values are 0 and 1, and conditions hold where they are not 0. */
typedef struct InfiniNode {
    int16_t op;      /* InfiniNodeOp; a function of spec/operators/language/expression.py, or: */
    int16_t args[3]; /* earlier nodes, -1 for none; of INFINI_NODE_INPUT: the input's number */
    double value;    /* of INFINI_NODE_CONSTANT */
} InfiniNode;

typedef enum InfiniExpressionFlags {
    INFINI_EXPRESSION_COPY = 1 /* the only result is the only input */
} InfiniExpressionFlags;

/* What a stage's functor computes, as data: back ends read this, and hand the source to a compiler
 * as it is. */
typedef struct InfiniExpression {
    size_t size;             /* sizeof(InfiniExpression) */
    const InfiniNode *nodes; /* in the order of evaluation */
    const int16_t *results;  /* the node of each output */
    int32_t node_count, result_count;
    uint32_t flags;
    uint32_t truths; /* a bit for each result that is a truth value */
    int32_t cost;    /* roughly, in operations for an element */
} InfiniExpression;

typedef enum InfiniAxis {
    INFINI_AXIS_NONE = 0,      /* nothing is folded */
    INFINI_AXIS_ALL = 1,       /* everything */
    INFINI_AXIS_DIM = 2,       /* dimension `axis`, counted from the end if < 0 */
    INFINI_AXIS_ATTRIBUTE = 3, /* the dimension, or dimensions, of attribute `axis` */
    INFINI_AXIS_FROM = 4       /* dimension `axis` and all after it */
} InfiniAxis;

typedef struct InfiniPhase {
    int32_t kind; /* InfiniAxis */
    int32_t axis;
} InfiniPhase;

typedef enum InfiniProgramFlags {
    INFINI_PROGRAM_WIDE = 1,    /* F32 is computed in F64: an index must be exact */
    INFINI_PROGRAM_BLAS = 2,    /* vectors with a negative stride begin at the far end */
    INFINI_PROGRAM_EPILOGUE = 4 /* it follows a kernel: see InfiniOperation */
} InfiniProgramFlags;

typedef struct InfiniProgram {
    size_t size; /* sizeof(InfiniProgram) */
    const char *name;
    const InfiniOperand *operands;
    const InfiniPhase *phases;
    const InfiniStage *stages; /* those of a phase follow each other */
    int32_t operand_count, phase_count, stage_count;
    uint32_t flags;
    /* Of each stage. They are no entries of the stages, whose size older back ends know. */
    const InfiniExpression *const *expressions;
} InfiniProgram;

#ifdef __cplusplus
}
#endif
#endif
