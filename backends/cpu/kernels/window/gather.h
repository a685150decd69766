// The engine of gather programs: it walks over the rows of an output; generated functions compute
// the elements of a row from the coordinates. See spec/operators/language/gather.py.
#pragma once

#include <bit>
#include <iterator>

#include "functions.h"
#include "gather_case.h"
#include "kernel.h"
#include "types.h"

namespace infini::cpu {

// What a definition can ask for: sizes and strides of the dimensions that it names, and attributes.
struct Gather {
    static constexpr int kInputs = 2, kDims = Shape::kMost, kAttributes = 8, kItems = 16,
                         kColumns = 16;
    int64_t extent[kDims];  // of the output
    int64_t size[kInputs][kDims], stride[kInputs][kDims];
    int64_t integer[kAttributes], item[kAttributes][kItems], count[kAttributes];
    double number[kAttributes];
    bool wide[kInputs];           // an index tensor of I64
    int64_t across[kInputs];      // strides of the carried dimension that a row runs along
    int64_t *integers[kColumns];  // tables with an entry for each place of a row
    double *reals[kColumns];
};

// Computes the elements [begin, end) of a row: `at` are the coordinates, `in` and `to` the data at
// the row's place in the carried dimensions, `step` is the output's stride along the row.
#define INFINI_GATHER_ROW                                                               \
    [[maybe_unused]] const Gather &g, [[maybe_unused]] const void *const *in, void *to, \
        const int64_t step, [[maybe_unused]] const int64_t *at, const int64_t begin,    \
        const int64_t end
using GatherRow = void (*)(INFINI_GATHER_ROW);

// The row function for each dtype: of F16, BF16, F32, F64, or of elements of 1, 2, 4, 8 bytes.
struct GatherRows {
    bool by_size = false;
    GatherRow rows[4] = {};

    constexpr GatherRows() = default;
    constexpr GatherRows(bool by_size, GatherRow a, GatherRow b, GatherRow c, GatherRow d)
        : by_size(by_size), rows{a, b, c, d} {}
    GatherRow of(int dtype) const;
};

// A way through a definition.
struct GatherForm {
    int rank;          // named dimensions of the output
    int coordinates;   // as many, or more when dimensions are split
    int inner;         // the coordinate that rows run along
    const char *text;  // what the attribute of the case must be; null or kAnyCase: anything
    int64_t value;
    void (*split)(const Gather &, int64_t *sizes, int *dims);
    void (*columns)(Gather &, int64_t count);  // fills the tables
    int integers, reals;                       // how many there are
    GatherRows rows, across;
};

std::unique_ptr<Plan> plan_gather(const Operation &operation, const GatherInfo &info,
                                  const GatherForm *forms, size_t count);

// ---- For generated code -------------------------------------------------------------------------

inline int64_t load_index(bool wide, const void *data, int64_t at) {
    return wide ? static_cast<const int64_t *>(data)[at] : static_cast<const int32_t *>(data)[at];
}

inline double binomial(double n, double k) {
    double result = 1;
    for (double i = 1; i <= k; ++i) result = result * (n - k + i) / i;
    return result;
}

}  // namespace infini::cpu
