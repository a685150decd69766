// Of operators that pick elements or rows by an index. Strides of the index are in entries, others
// in bytes.
#pragma once

#include "places.h"

namespace infini {

struct GatherParams {
    void *to;
    const void *from, *index;
    Places<3> words;      // in the output, the input (at place 0) and the index
    int64_t limit, step;  // places that there are; from one to the next
    int64_t shift;        // what is added to an entry of the index
    int32_t whole;        // words are aligned
};

}  // namespace infini
