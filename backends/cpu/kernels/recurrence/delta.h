// The delta rule on rows of a state. For each token, with decay A over the columns:
//   S = S A;  d = beta (v - S k);  S = S + d k^T;  out = S q.
// Rows are independent. S A k and S A q are products of the old S with A k and A q, and
// out = S A q + d (k . q): so the update with one token and both products for the next are one
// pass.
#pragma once

#include "convert.h"

namespace infini::cpu {

// Vectors of a token, each `width` floats long (a multiple of the vector's lanes, zeros at the
// end).
struct Token {
    const float *decay, *k, *decayed_k, *decayed_q;
    float beta, kq;
};

inline constexpr int64_t kDeltaRows = 4;

// Both products of the state's rows with a token.
template <int64_t rows>
struct Products {
    F32 k[rows], q[rows];

    INFINI_SIMD void clear() {
        for (int64_t row = 0; row < rows; ++row) k[row] = q[row] = F32{};
    }
    INFINI_SIMD void add(int64_t row, F32 state, F32 with_k, F32 with_q) {
        k[row] = fma(state, with_k, k[row]);
        q[row] = fma(state, with_q, q[row]);
    }
    // What the token brings to each row; v becomes the output.
    INFINI_SIMD void finish(const Token &token, float *v, F32 (&delta)[rows]) const {
        for (int64_t row = 0; row < rows; ++row) {
            const float d = token.beta * (v[row] - reduce_add(k[row]));
            v[row] = reduce_add(q[row]) + d * token.kq;
            delta[row] = broadcast<F32>(d);
        }
    }
};

// Some tokens on some rows of a state in F32; v [count, v_step] becomes the output.
template <int64_t rows>
void delta_tokens(float *state, int64_t width, const Token *tokens, int64_t count, float *v,
                  int64_t v_step) {
    constexpr int64_t kStep = kWidth<float>;
    Products<rows> products;
    products.clear();
    for (int64_t j = 0; j < width; j += kStep) {
        const F32 k = load<F32>(tokens[0].decayed_k + j), q = load<F32>(tokens[0].decayed_q + j);
        for (int64_t row = 0; row < rows; ++row)
            products.add(row, load<F32>(state + row * width + j), k, q);
    }
    for (int64_t t = 0; t < count; ++t) {
        const Token &token = tokens[t];
        F32 delta[rows];
        products.finish(token, v + t * v_step, delta);
        const bool more = t + 1 < count;
        const Token &next = tokens[more ? t + 1 : t];
        // Copies: the stores below could change what `tokens` points to, for all the compiler
        // knows.
        const float *decays = token.decay, *keys = token.k;
        const float *next_keys = next.decayed_k, *next_queries = next.decayed_q;
        products.clear();
        for (int64_t j = 0; j < width; j += kStep) {
            const F32 decay = load<F32>(decays + j), old_k = load<F32>(keys + j);
            const F32 k = load<F32>(next_keys + j), q = load<F32>(next_queries + j);
            for (int64_t row = 0; row < rows; ++row) {
                float *at = state + row * width + j;
                const F32 updated = fma(delta[row], old_k, load<F32>(at) * decay);
                store(at, updated);
                products.add(row, updated, k, q);
            }
        }
    }
}

// One token on rows of a state in its own type, read from one place and written to another (null:
// nowhere), without a copy in between. `size` is a multiple of the vector's lanes.
template <int64_t rows, class T>
void delta_once(const T *from, int64_t from_step, T *to, int64_t to_step, int64_t size,
                const Token &token, float *v) {
    constexpr int64_t kStep = kWidth<float>;
    Products<rows> products;
    products.clear();
    for (int64_t j = 0; j < size; j += kStep) {
        const F32 k = load<F32>(token.decayed_k + j), q = load<F32>(token.decayed_q + j);
        for (int64_t row = 0; row < rows; ++row)
            products.add(row, load_f32(from + row * from_step + j), k, q);
    }
    F32 delta[rows];
    products.finish(token, v, delta);
    if (!to) return;
    const float *decays = token.decay, *keys = token.k;
    for (int64_t j = 0; j < size; j += kStep) {
        const F32 decay = load<F32>(decays + j), k = load<F32>(keys + j);
        for (int64_t row = 0; row < rows; ++row) {
            const F32 old = load_f32(from + row * from_step + j) * decay;
            store_f32(to + row * to_step + j, fma(delta[row], k, old));
        }
    }
}

}  // namespace infini::cpu
