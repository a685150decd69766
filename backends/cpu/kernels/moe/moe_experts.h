// The expert layers of a mixture of experts: pairs (token, choice) are sorted by expert, and each
// expert's rows are gathered, multiplied, activated, multiplied again and added to their tokens, a
// block of rows at a time. An expert's matrices are read once per block, never copied.
//
// A layer provides an expert's matrices: `layer.each(expert, product, use)` calls use() with the
// product for every part of the layer, with b or weights (and for parts: n and c) filled in. It is
// also called while planning, with dummy pointers.
#pragma once

#include <algorithm>
#include <cstring>

#include "../convert.h"
#include "../functions.h"
#include "../kernel.h"
#include "../matmul/matmul.h"

namespace infini::cpu {

// The activation between the two products of a feed-forward block.
enum class Gate { Silu, Swiglu, Situglu };  // infiniopFusedMoeActivation_t

namespace detail {

INFINI_SIMD F32 gate_value(F32 gate, F32 up, Gate kind) {
    F32 one = broadcast<F32>(1.0f), sigmoid = one / (one + exp(-gate));
    if (kind == Gate::Silu) return gate * sigmoid;
    if (kind == Gate::Swiglu) return gate * sigmoid * up;
    return 4.0f * tanh(gate * 0.25f) * sigmoid * (25.0f * tanh(up / 25.0f));
}

template <class T>
void gate_row(Gate kind, const T *wide, T *inner, int64_t n, float scale) {
    constexpr int64_t width = int64_t(kWidth<float>);
    const T *up = kind == Gate::Silu ? wide : wide + n;
    int64_t i = 0;
    for (; i + width <= n; i += width) {
        store_f32(inner + i, gate_value(load_f32(wide + i), load_f32(up + i), kind) * scale);
    }
    if (i < n) {
        size_t left = size_t(n - i);
        F32 value = gate_value(load_f32(wide + i, left), load_f32(up + i, left), kind) * scale;
        store_f32(inner + i, value, left);
    }
}

}  // namespace detail

// Maps a row after the first product, [n] or gates and ups [2 n], to n scaled values.
template <class T>
void apply_gate(Gate kind, const T *wide, T *inner, int64_t n, float scale = 1.0f) {
    switch (kind) {
        case Gate::Silu:
            return detail::gate_row(Gate::Silu, wide, inner, n, scale);
        case Gate::Swiglu:
            return detail::gate_row(Gate::Swiglu, wide, inner, n, scale);
        case Gate::Situglu:
            return detail::gate_row(Gate::Situglu, wide, inner, n, scale);
    }
}

struct ExpertShape {
    int dtype = 0;
    int64_t tokens = 0, choices = 0, experts = 0;
    int64_t hidden = 0, wide = 0,
            inner = 0;  // columns of the tokens, after layer 1, after the gate
    Gate gate = Gate::Swiglu;
    bool scale_inside = false;  // scales the result of the gate, not the sum
    int bias1 = 0, bias2 = 0;   // dtypes; 0: none
    bool invariant = false;     // see Matmul

    int64_t pairs() const { return tokens * choices; }
    int64_t element() const { return dtype == INFINI_DTYPE_F32 ? 4 : 2; }
};

struct ExpertData {
    void *out;
    const void *in;
    const int32_t *ids;   // [tokens, choices]; invalid ids contribute nothing
    const float *scales;  // [tokens, choices]
    const void *bias1 = nullptr, *bias2 = nullptr;  // [experts, wide], [experts, hidden]
};

class Experts {
public:
    explicit Experts(const ExpertShape &shape);

    // Bytes of workspace for run(), 64-byte aligned.
    template <class First, class Second>
    size_t workspace(const First &first, const Second &second) const {
        size_t most = 0;
        Epilogue epilogue;
        auto ask = [&](const Matmul &product) { most = std::max(most, matmul_workspace(product)); };
        for (int64_t rows = 1; rows <= block_; ++rows) {
            for (bool bias : {false, true}) {
                Matmul p = product1(rows), q = product2(rows);
                if (bias) p.epilogue = q.epilogue = &epilogue;
                first.each(0, p, ask);
                second.each(0, q, ask);
            }
        }
        return size_t(scratch_) + most;
    }

    template <class First, class Second>
    void run(const ExpertData &data, const First &first, const Second &second, char *memory) const {
        sort(data, memory);
        auto multiply = [&](const Matmul &product) { matmul(product, memory + scratch_); };
        const int64_t *start = starts(memory);
        for (int64_t expert = 0; expert < s.experts; ++expert) {
            for (int64_t row = start[expert]; row < start[expert + 1]; row += block_) {
                int64_t rows = std::min(block_, start[expert + 1] - row);
                Epilogue bias1 = bias(data.bias1, s.bias1, expert * s.wide);
                Epilogue bias2 = bias(data.bias2, s.bias2, expert * s.hidden);
                Matmul p = product1(rows), q = product2(rows);
                p.a.data = gather(data, row, rows, memory);
                p.c.data = memory + wide_;
                if (data.bias1) p.epilogue = &bias1;
                first.each(expert, p, multiply);
                activate(data, row, rows, memory);
                q.a.data = memory + inner_;
                q.c.data = memory + rows_;
                if (data.bias2) q.epilogue = &bias2;
                second.each(expert, q, multiply);
                add(data, row, rows, memory);
            }
        }
        finish(data, memory);
    }

private:
    Matmul product1(int64_t rows) const { return product(rows, s.hidden, s.wide); }
    Matmul product2(int64_t rows) const { return product(rows, s.inner, s.hidden); }
    Matmul product(int64_t rows, int64_t k, int64_t n) const {
        Matmul p;
        p.m = rows, p.n = n, p.k = k, p.invariant = s.invariant;
        p.a = {nullptr, s.dtype, k, 1, 0};
        p.c = {nullptr, s.dtype, n, 1, 0};
        return p;
    }
    Epilogue bias(const void *data, int dtype, int64_t at) const {
        Epilogue e;
        if (data) e.bias = static_cast<const char *>(data) + at * s.element();
        e.bias_dtype = dtype;
        return e;
    }

    const int64_t *starts(const char *memory) const {
        return reinterpret_cast<const int64_t *>(memory);
    }
    const int32_t *order(const char *memory) const {
        return reinterpret_cast<const int32_t *>(memory + order_);
    }

    void sort(const ExpertData &data, char *memory) const;
    const void *gather(const ExpertData &data, int64_t row, int64_t rows, char *memory) const;
    void activate(const ExpertData &data, int64_t row, int64_t rows, char *memory) const;
    void add(const ExpertData &data, int64_t row, int64_t rows, char *memory) const;
    void finish(const ExpertData &data, char *memory) const;

    ExpertShape s;
    int64_t block_;  // rows at a time
    // Offsets in the workspace: the starts of the experts and the pairs sorted by expert; rows of a
    // block; the sums of the tokens; at `scratch_`, the workspace of products.
    int64_t order_, rows_, wide_, inner_, sums_, scratch_;
};

// The experts' matrices are contiguous, each [out, in].
struct DenseExperts {
    const void *data;
    int dtype;
    int64_t out, in;

    template <class Use>
    void each(int64_t expert, Matmul product, const Use &use) const {
        int64_t bytes = dtype == INFINI_DTYPE_F32 ? 4 : 2;
        product.b.data = static_cast<const char *>(data) + expert * out * in * bytes;
        product.b.dtype = dtype;
        product.b.row_stride = 1, product.b.col_stride = in;
        use(product);
    }
};

}  // namespace infini::cpu
