// Tensors that rows of operators.cc add. Numbers are those by which the rows name them.
#pragma once

#include "backends/vendor_runtime/rows.h"

namespace infini::vendor_runtime::ascend {

// 3: the gate, then what it lets through, in rows of twice the length; 4, 5: its halves.
std::vector<Extra> side_by_side(const Operation &operation);
// 5, 6: cosines and sines of all elements of a head, by token; 7 .. 10: those of the first and the
// second elements of pairs; 11, 12: x and y with four dimensions; 13, 14: 5 and 6 that fit to them;
// 15: positions.
std::vector<Extra> rope_tables(const Operation &operation);
std::vector<Extra> attention_mask(const Operation &operation);
// 6, 7: where keys and values go; 8 .. 10: queries, and all keys and values so far, as a batch of
// one; 11: the result as the library orders it; 12: the mask.
std::vector<Extra> cache_views(const Operation &operation);
// The softmax of rows of which the mask hides the end.
std::vector<Extra> softmax_mask(const Operation &operation);
// 6, 7: scales of rows and of columns, as lines.
std::vector<Extra> scale_lines(const Operation &operation);
// 4: numbers before they are rounded; 5: the scale without dimensions.
std::vector<Extra> wide_numbers(const Operation &operation);
// 2, 3: result and source as lines.
std::vector<Extra> as_lines(const Operation &operation);
std::vector<Extra> picked_slices(const Operation &operation);
std::vector<Extra> picked_elements(const Operation &operation);

}  // namespace infini::vendor_runtime::ascend
