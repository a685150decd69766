#ifndef INFINI_VALUE_H
#define INFINI_VALUE_H

#include <stdint.h>

/* An attribute of an operator, or a scalar of its run function. */
typedef union InfiniValue {
    int64_t i;
    double f;
    void *list; /* or text */
} InfiniValue;

#endif
