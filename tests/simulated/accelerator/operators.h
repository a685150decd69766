// Operators of language models, on the host in plain loops: the arithmetic of the simulated
// operator libraries. Each returns false, with a report, for invalid memory.
#pragma once

#include "tensors.h"

namespace simulated {

bool rms_norm(const Strided &x, const Strided &w, double eps, const Strided &y, int device);
bool layer_norm(const Strided &x, const Strided *w, const Strided *b, double eps, const Strided &y,
                int device);
bool softmax(const Strided &x, int dim, bool logarithm, const Strided &y, int device);
bool map(const Strided &x, const Strided &y, double (*function)(double), int device);
bool copy_elements(const Strided &from, const Strided &to, int device);
bool lookup(const Strided &table, const Strided &indices, const Strided &out, int device);
// Elements in order along a dimension; `k` of them.
bool order(const Strided &x, int dim, bool descending, int64_t k, const Strided &values,
           const Strided &places, int device);
// The index of the largest or smallest element along a dimension, the first of equal ones; NaN
// wins.
bool extreme(const Strided &x, int dim, bool largest, const Strided &places, int device);
bool running_sum(const Strided &x, int dim, const Strided &y, int device);
// Gathers along a dimension: an index for each element, or one for each slice.
bool gather(const Strided &x, int dim, const Strided &indices, const Strided &y, int device);
bool select(const Strided &x, int dim, const Strided &indices, const Strided &y, int device);
// y = function(a, b), which broadcast to the shape of y.
bool combine(const Strided &a, const Strided &b, const Strided &y,
             double (*function)(double, double), int device);
// Writes the value where the mask, which broadcasts, is not 0; other elements are unchanged.
bool fill_where(const Strided &x, const Strided &mask, double value, int device);
// cos and sin broadcast to the shape of x.
bool rotate(const Strided &x, const Strided &cos, const Strided &sin, bool halves, const Strided &y,
            int device);
// [B, H, L, D]. Query i attends to the keys up to i + keys - queries if `causal`.
bool attend(const Strided &q, const Strided &k, const Strided &v, double scale, bool causal,
            const Strided &out, int device);
// Sequences of queries [tokens, heads, size], ending at `ends`, in a cache [blocks, heads, rows,
// size]: query i of n attends to the keys up to i + keys - n.
bool attend_paged(const Strided &q, const Strided &k, const Strided &v, const Strided &table,
                  const std::vector<int64_t> &ends, const std::vector<int64_t> &lengths,
                  double scale, const Strided &out, int device);

}  // namespace simulated
