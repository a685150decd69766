// Tensors added by the rows of operators.cc, with the numbers by which the rows refer to them.
#pragma once

#include "backends/vendor_runtime/rows.h"

namespace infini::vendor_runtime::cambricon {

// 2, 3: x and y, with the dimension of the softmax in the middle of three.
std::vector<Extra> three_dimensions(const Operation &operation);
// 2, 3: x and y as [B, 1, L, T]; 4: the mask.
std::vector<Extra> hidden_ends(const Operation &operation);
// 6, 7: means and inverse deviations, for a backward pass.
std::vector<Extra> two_statistics(const Operation &operation);
// 5, 6: cosines and sines by token; 7, 8: the same as [B or 1, T, 1, D / 2]; 9, 10: the first and
// the second elements of pairs, contiguous; 11, 12: the same as views of x; 13, 14: contiguous
// results; 15, 16: the same as views of y; 17: positions.
std::vector<Extra> rope_halves(const Operation &operation);
// The same, and 18 .. 23: 7 .. 10, 13 and 14 in F32.
std::vector<Extra> wide_rope_halves(const Operation &operation);
// 5 .. 8: queries, keys, values and the result by token, [B * L, H, D]; 9, 10: the starts of
// sequences; 11: an output for the backward pass; 12 .. 15: q, k, v and out as [B, L, H, D]; 16 ..
// 19: 5 .. 8 in the same way.
std::vector<Extra> packed_attention(const Operation &operation);
// 3: inverse deviations, for a backward pass.
std::vector<Extra> one_statistic(const Operation &operation);

}  // namespace infini::vendor_runtime::cambricon
