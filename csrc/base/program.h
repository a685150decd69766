/* Programs: the traced form of operators' definitions. A program is plain data; back ends run it
 * with a few engines, and the fuser concatenates programs by renumbering.
 *
 * A program is a list of phases. A phase iterates over an index space (the shape of all its
 * tensors, broadcast) and may fold (reduce) some of its dimensions: the kept dimensions then index
 * the rows, and the folded ones the elements of a row. Its stages run one after the other, each for
 * all elements of a row (or once per row: INFINI_STAGE_ROWS), so a stage can use the folds of
 * earlier ones. Only the last elementwise stage writes tensors, so they may be updated in place.
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
    INFINI_OPERAND_ATTRIBUTE = 2, /* a number from the create call */
    INFINI_OPERAND_SCALAR = 3,    /* a number from the run call; `integer` tells its type */
    INFINI_OPERAND_EXTENT = 4,    /* the number of elements in a row of `phase` */
    INFINI_OPERAND_POSITION = 5, /* the index along dimension `axis`, counted from the end if < 0 */
    INFINI_OPERAND_ELEMENT = 6,  /* a temporary with one value per element */
    INFINI_OPERAND_ROW = 7       /* one with one value per row; later phases read it as a tensor */
} InfiniOperandKind;

/* A view of a tensor. */
typedef enum InfiniView {
    INFINI_VIEW_PLAIN = 0,
    INFINI_VIEW_EXPAND = 1, /* with a dimension of size 1 inserted at `axis` < 0 */
    INFINI_VIEW_FIRST = 2,  /* the first half of the last dimension */
    INFINI_VIEW_SECOND = 3, /* the second half */
    INFINI_VIEW_ITEM = 4    /* entry `axis` of the last dimension, which stays with size 1 */
} InfiniView;

typedef struct InfiniOperand {
    int16_t kind;
    int16_t index;
    int16_t pointer;
    int16_t integer;
    int16_t phase; /* that computes it: EXTENT, ELEMENT, ROW */
    int16_t view;
    int32_t axis;
} InfiniOperand;

typedef enum InfiniFold {
    INFINI_FOLD_NONE = 0,
    INFINI_FOLD_SUM = 1,
    INFINI_FOLD_PROD = 2,
    INFINI_FOLD_MAX = 3, /* NaN propagates */
    INFINI_FOLD_MIN = 4,
    INFINI_FOLD_ANY = 5, /* of booleans, 0 or 1 */
    INFINI_FOLD_ALL = 6,
    INFINI_FOLD_ARGMAX = 7, /* the first one */
    INFINI_FOLD_ARGMIN = 8
} InfiniFold;

typedef enum InfiniStageKind { INFINI_STAGE_ELEMENTS = 1, INFINI_STAGE_ROWS = 2 } InfiniStageKind;

/* Evaluates a functor. Its results are stored to operands, folded, or both. */
typedef struct InfiniStage {
    int16_t kind;
    int16_t phase;
    int16_t input_count, output_count;
    const int16_t *inputs;  /* numbers of operands */
    const int16_t *outputs; /* numbers of operands; -1: not stored */
    const int16_t *folds;   /* InfiniFold of each output; null: none */
    const int16_t *folded;  /* the ROW operand for each fold; -1 for none */
    const char *functor;    /* its name, by which back ends find the compiled one */
    const char *source;     /* C++: template <class V> struct with eval(const V *x, V *y) */
} InfiniStage;

/* One step of an expression. Booleans are 0 and 1; a condition is true if it is not 0. */
typedef struct InfiniNode {
    int16_t op;      /* InfiniNodeOp; a function of spec/operators/language/expression.py, or: */
    int16_t args[3]; /* earlier nodes, -1 for none; of INFINI_NODE_INPUT: the input's number */
    double value;    /* of INFINI_NODE_CONSTANT */
} InfiniNode;

typedef enum InfiniExpressionFlags {
    INFINI_EXPRESSION_COPY = 1 /* the only result is the only input */
} InfiniExpressionFlags;

/* What a stage's functor computes, as data. Back ends analyse this, and pass the source to a
 * compiler unchanged. */
typedef struct InfiniExpression {
    size_t size;             /* sizeof(InfiniExpression) */
    const InfiniNode *nodes; /* in the order of evaluation */
    const int16_t *results;  /* the node of each output */
    int32_t node_count, result_count;
    uint32_t flags;
    uint32_t truths; /* a bit for each result that is a boolean */
    int32_t cost;    /* estimated operations per element */
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
    INFINI_PROGRAM_WIDE = 1, /* F32 is computed in F64: indices must be exact */
    INFINI_PROGRAM_BLAS = 2, /* vectors with a negative stride start at the far end, as in BLAS */
    INFINI_PROGRAM_EPILOGUE = 4 /* it follows a kernel: see InfiniOperation */
} InfiniProgramFlags;

typedef struct InfiniProgram {
    size_t size; /* sizeof(InfiniProgram) */
    const char *name;
    const InfiniOperand *operands;
    const InfiniPhase *phases;
    const InfiniStage *stages; /* those of a phase are consecutive */
    int32_t operand_count, phase_count, stage_count;
    uint32_t flags;
    /* One per stage. Not a member of InfiniStage, whose size is fixed by older back ends. */
    const InfiniExpression *const *expressions;
} InfiniProgram;

#ifdef __cplusplus
}
#endif
#endif
