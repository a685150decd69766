// Conditions and additional tensors shared by rows of several vendors.
#pragma once

#include "rows.h"

namespace infini::vendor_runtime {

bool is_float(int dtype);  // one of F16, BF16, F32
bool is_index(int dtype);  // I32 or I64
// A signed integer of the same size, for elements that are only moved; 0: there is none.
int moved_type(int dtype);

namespace when {
extern const Condition floats;         // F16, BF16 and F32, the same in all tensors
extern const Condition halves;         // F16 and BF16, the same in all tensors
extern const Condition contiguous;     // all tensors
extern const Condition forward;        // no negative strides, no repeated elements in tensor 0
extern const Condition lines;          // tensor 0 has a dimension
extern const Condition movable;        // tensor 0 has a moved_type
extern const Condition indices;        // tensor 1 has I32 or I64
extern const Condition some_rows;      // embedding: its table has elements, or the result has none
extern const Condition sortable;       // tensor 0 has numbers that libraries order
extern const Condition wide_places;    // tensor 1 has I64
extern const Condition narrow_places;  // tensor 1 has I32
extern const Condition no_statistics;  // of layer_norm
extern const Condition to_float;       // cast
extern const Condition rotary;         // rope: types and dimensions that lookups of tables take
}  // namespace when

// Tensors that follow those of the operator.
namespace extras {
// The outputs of norms for a backward pass: F32, one for each row.
std::vector<Extra> row_statistics(const Operation &operation);
// A contiguous tensor like the first one.
std::vector<Extra> dense_copy(const Operation &operation);
// rearrange: both tensors as integers; broadcast dimensions of the source have size 1.
std::vector<Extra> moved_elements(const Operation &operation);
// embedding: the result and the table as integers.
std::vector<Extra> moved_rows(const Operation &operation);
// topk: indices as the other integer type.
std::vector<Extra> other_places(const Operation &operation);
}  // namespace extras

// rope: positions as a vector of signed integers.
Extra rotary_positions(const Operation &operation);

Shape dense_shape(int dtype, std::initializer_list<int64_t> sizes);
// The same sizes, contiguous.
Shape dense_shape(Shape shape);
// A causal mask: the upper triangle, without the first `shift + 1` diagonals, is 1.
Extra causal_mask(int64_t rows, int64_t columns, int64_t shift);

}  // namespace infini::vendor_runtime
