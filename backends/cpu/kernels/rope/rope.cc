// Rotary position embedding: rope and mrope.
#include <algorithm>

#include "../kernel.h"
#include "../threads.h"
#include "floats.h"
#include "rotate.h"

namespace infini::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements that justify a thread

// A position outside the table uses row 0, so that invalid data causes no out-of-bounds read.
int64_t table_row(int dtype, const void *positions, int64_t index, int64_t rows) {
    int64_t position = load_as<int64_t>(dtype, positions, index);
    return position >= 0 && position < rows ? position : 0;
}

struct Rope {
    int64_t batch, tokens, heads, half;
    int64_t y_batch, y_token, y_head, x_batch, x_token, x_head;
    int positions_dtype;
    int64_t positions_batch;  // stride between batch entries; 0: shared
    int64_t rows;
    bool neighbours;

    template <class T>
    void token(const Arguments &a, int64_t index) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        int64_t b = index / tokens, t = index % tokens;
        T *y = a.pointer<T>(0) + b * y_batch + t * y_token;
        const T *x = a.pointer<const T>(1) + b * x_batch + t * x_token;
        int64_t row =
            table_row(positions_dtype, a.pointer<const void>(2), b * positions_batch + t, rows);
        const T *sin = a.pointer<const T>(3) + row * half,
                *cos = a.pointer<const T>(4) + row * half;
        C s[2 * kMostAngles], c[2 * kMostAngles];
        for (int64_t i = 0; i < half; i += kMostAngles) {
            int64_t n = std::min(kMostAngles, half - i);
            load_block(s, sin + i, n);
            load_block(c, cos + i, n);
            if (neighbours) {
                double_angles(s, c, n);
                for (int64_t h = 0; h < heads; ++h)
                    rotate_neighbours<C>(y + h * y_head + 2 * i, x + h * x_head + 2 * i, s, c,
                                         2 * n);
            } else {
                for (int64_t h = 0; h < heads; ++h) {
                    T *to = y + h * y_head + i;
                    const T *from = x + h * x_head + i;
                    rotate_rows<C>(to, to + half, from, from + half, s, c, n);
                }
            }
        }
    }
};

// Calls f(Type<T>{}) with the type of a float dtype.
std::unique_ptr<Plan> plan_rope(const Operation &operation) {
    Tensor y = operation.tensor(0), x = operation.tensor(1), positions = operation.tensor(2);
    if (y.ndim != 3 && y.ndim != 4)
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "rope takes tensors of 3 or 4 dimensions"};
    Rope r;
    bool batched = y.ndim == 4;
    r.batch = batched ? y.size(0) : 1;
    r.tokens = y.size(-3), r.heads = y.size(-2), r.half = y.size(-1) / 2;
    r.y_batch = batched ? y.stride(0) : 0, r.x_batch = batched ? x.stride(0) : 0;
    r.y_token = y.stride(-3), r.x_token = x.stride(-3);
    r.y_head = y.stride(-2), r.x_head = x.stride(-2);
    r.positions_dtype = positions.dtype;
    r.positions_batch = positions.ndim == 2 ? r.tokens : 0;
    r.rows = operation.tensor(3).size(0);
    r.neighbours = operation.integer(0) == 0;  // GPT-J; 1 is GPT-NeoX
    int dtype = y.dtype;
    return make_plan([r, dtype](const Arguments &a) {
        visit_float(dtype, [&]<class T>(Type<T>) {
            size_t grain = size_t(kGrain / std::max<int64_t>(1, r.heads * r.half * 2)) + 1;
            parallel_for(size_t(r.batch * r.tokens), grain, [&](size_t begin, size_t end) {
                for (size_t i = begin; i < end; ++i) r.token<T>(a, int64_t(i));
            });
        });
    });
}

// ---- Three positions per token ------------------------------------------------------------------

struct Mrope {
    int64_t tokens, head_size, half, heads[2];  // of queries and keys
    int64_t out_token[2], in_token[2];
    Shape cos, sin;
    int positions_dtype;
    int64_t positions_axis, positions_token;
    int64_t section_t, section_h, section_w;
    bool interleaved;

    int axis(int64_t pair) const {
        if (interleaved) {
            if (pair % 3 == 1 && pair < 3 * section_h) return 1;
            return pair % 3 == 2 && pair < 3 * section_w ? 2 : 0;
        }
        return pair < section_t ? 0 : pair < section_t + section_h ? 1 : 2;
    }

    template <class T>
    void token(const Arguments &a, int64_t t) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        const T *cosines = a.pointer<const T>(4), *sines = a.pointer<const T>(5);
        int64_t row[3];
        for (int i = 0; i < 3; ++i)
            row[i] = table_row(positions_dtype, a.pointer<const void>(6),
                               i * positions_axis + t * positions_token, cos.size[0]);
        for (int64_t begin = 0; begin < half; begin += kMostAngles) {
            int64_t n = std::min(kMostAngles, half - begin);
            C s[kMostAngles], c[kMostAngles];
            for (int64_t i = 0; i < n; ++i) {
                int64_t r = row[axis(begin + i)];
                s[i] = load_element<C>(sines[r * sin.stride[0] + (begin + i) * sin.stride[1]]);
                c[i] = load_element<C>(cosines[r * cos.stride[0] + (begin + i) * cos.stride[1]]);
            }
            for (int k = 0; k < 2; ++k)
                for (int64_t h = 0; h < heads[k]; ++h) {
                    T *to = a.pointer<T>(k) + t * out_token[k] + h * head_size + begin;
                    const T *from =
                        a.pointer<const T>(k + 2) + t * in_token[k] + h * head_size + begin;
                    rotate_rows<C>(to, to + half, from, from + half, s, c, n);
                }
        }
        for (int k = 0; k < 2; ++k) {  // elements that are not rotated
            T *to = a.pointer<T>(k) + t * out_token[k] + 2 * half;
            const T *from = a.pointer<const T>(k + 2) + t * in_token[k] + 2 * half;
            if (to == from || 2 * half == head_size) continue;
            for (int64_t h = 0; h < heads[k]; ++h)
                std::memmove(to + h * head_size, from + h * head_size,
                             size_t(head_size - 2 * half) * sizeof(T));
        }
    }
};

std::unique_ptr<Plan> plan_mrope(const Operation &operation) {
    Mrope m;
    m.head_size = operation.integer(0), m.half = operation.integer(1) / 2;
    for (int k = 0; k < 2; ++k) {
        m.heads[k] = operation.tensor(k).size(1) / m.head_size;
        m.out_token[k] = operation.tensor(k).stride(0);
        m.in_token[k] = operation.tensor(k + 2).stride(0);
    }
    m.tokens = operation.tensor(0).size(0);
    m.cos = operation.tensor(4), m.sin = operation.tensor(5);
    Tensor positions = operation.tensor(6);
    m.positions_dtype = positions.dtype;
    m.positions_axis = positions.ndim == 2 ? positions.stride(0) : 0;
    m.positions_token = positions.stride(-1);
    m.section_t = operation.integer(2);
    m.section_h = operation.integer(3), m.section_w = operation.integer(4);
    m.interleaved = operation.integer(5) != 0;
    return make_plan([m](const Arguments &a) {
        visit_float(m.cos.dtype, [&]<class T>(Type<T>) {
            int64_t elements = (m.heads[0] + m.heads[1]) * m.head_size;
            size_t grain = size_t(kGrain / std::max<int64_t>(1, elements)) + 1;
            parallel_for(size_t(m.tokens), grain, [&](size_t begin, size_t end) {
                for (size_t t = begin; t < end; ++t) m.token<T>(a, int64_t(t));
            });
        });
    });
}

std::unique_ptr<Plan> plan_rotation(const Operation &operation) {
    return operation.is("mrope") ? plan_mrope(operation) : plan_rope(operation);
}

INFINI_KERNEL("rope", plan_rotation);

}  // namespace
}  // namespace infini::cpu
