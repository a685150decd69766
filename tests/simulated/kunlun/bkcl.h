/* Replaces the SDK's bkcl.h, from which the back end reads constants. The names are the SDK's; the
 * numbers are of this simulation alone, and on purpose not what one would guess. */
#pragma once

#define BKCL_UNIQUE_ID_BYTES (768)

typedef enum {
    BKCL_FLOAT64 = 3, /* of 8 bytes, as = 8 */
    BKCL_FLOAT,       // 4
    BKCL_FLOAT16,
    BKCL_UINT8 = 0x10,
    BKCL_INT32 = 0x12,
    BKCL_INT64,
    BKCL_BFLOAT16 = 9,
} BKCLDataType;

typedef enum { BKCL_MIN = 2, BKCL_MAX, BKCL_ADD, BKCL_PRODUCT, BKCL_NUM_OPS } BKCLOp;
