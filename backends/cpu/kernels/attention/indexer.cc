// Quantised rows for the indexer: fp8_indexer_quant and fused_fp8_indexer.
#include "../kernel.h"
#include "../rope/rotate.h"
#include "../threads.h"
#include "indexer_rows.h"
#include "rows.h"

namespace infini::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // elements that justify a thread

// Calls f(Type<T>{}) for F16 or BF16.
template <class F>
void visit_half(int dtype, F &&f) {
    if (dtype == INFINI_DTYPE_BF16)
        f(Type<bf16>{});
    else
        f(Type<f16>{});
}

std::unique_ptr<Plan> plan_quant(const Operation &operation) {
    Tensor q = operation.tensor(2);
    int dtype = q.dtype, weight_dtype = operation.tensor(3).dtype;
    int64_t rows = q.size(0) * q.size(1), depth = q.size(2);
    return make_plan([=](const Arguments &a) {
        size_t grain = size_t(kGrain / std::max<int64_t>(1, depth)) + 1;
        parallel_for(size_t(rows), grain, [&](size_t begin, size_t end) {
            visit_half(dtype, [&]<class T>(Type<T>) {
                for (int64_t r = int64_t(begin); r < int64_t(end); ++r) {
                    float scale = quantise_row(a.pointer<f8>(0) + r * depth,
                                               a.pointer<const T>(2) + r * depth, depth);
                    a.pointer<float>(1)[r] =
                        load_as<float>(weight_dtype, a.pointer<const void>(3), r) * scale;
                }
            });
        });
    });
}
INFINI_KERNEL("fp8_indexer_quant", plan_quant);

struct Fused {
    int64_t tokens, heads, pages, page_size, positions, rope;
    int dtype, norm_weight_dtype, norm_bias_dtype, angle_dtype;
    double eps, weights_scale;

    // A position outside the table uses row 0.
    int64_t row_of(const Arguments &a, int64_t token) const {
        int64_t position = a.pointer<const int64_t>(7)[token];
        return position >= 0 && position < positions ? position : 0;
    }
    // The token's angles in the layout of rotate_neighbours.
    template <class C>
    void angles(const Arguments &a, int64_t token, C *s, C *c) const {
        int64_t half = rope / 2, row = row_of(a, token) * rope;
        for (int64_t i = 0; i < half; ++i) {
            c[i] = load_as<C>(angle_dtype, a.pointer<const void>(8), row + i);
            s[i] = load_as<C>(angle_dtype, a.pointer<const void>(8), row + half + i);
        }
        double_angles(s, c, half);
    }

    template <class T>
    void queries(const Arguments &a, int64_t token) const {
        float s[kIndexDepth], c[kIndexDepth];
        angles(a, token, s, c);
        for (int64_t h = 0; h < heads; ++h) {
            int64_t at = token * heads + h;
            T row[kIndexDepth];
            std::memcpy(row, a.pointer<const T>(3) + at * kIndexDepth, sizeof row);
            rotate_neighbours<float>(row, row, s, c, rope);
            float scale = quantise_row(a.pointer<f8>(0) + at * kIndexDepth, row, kIndexDepth);
            T weight = a.pointer<const T>(4)[token * (kIndexDepth + heads) + kIndexDepth + h];
            store_element(weight, load_element<double>(weight) * weights_scale);
            a.pointer<float>(1)[at] = to_float(weight) * scale;
        }
    }

    // Normalised in double: one key is used by many queries.
    template <class T>
    void key(const Arguments &a, int64_t token, int64_t page, int64_t row) const {
        double x[kIndexDepth], s[kIndexDepth], c[kIndexDepth], mean = 0, variance = 0;
        const T *from = a.pointer<const T>(4) + token * (kIndexDepth + heads);
        for (int64_t i = 0; i < kIndexDepth; ++i) mean += x[i] = load_element<double>(from[i]);
        mean /= double(kIndexDepth);
        for (double &value : x) value -= mean, variance += value * value;
        double factor = 1 / std::sqrt(variance / double(kIndexDepth) + eps);
        for (int64_t i = 0; i < kIndexDepth; ++i)
            x[i] = x[i] * factor * load_as<double>(norm_weight_dtype, a.pointer<const void>(5), i) +
                   load_as<double>(norm_bias_dtype, a.pointer<const void>(6), i);
        angles(a, token, s, c);
        rotate_neighbours<double>(x, x, s, c, rope);
        T rounded[kIndexDepth];
        for (int64_t i = 0; i < kIndexDepth; ++i) store_element(rounded[i], x[i]);
        char *to = a.pointer<char>(2) + page * page_size * kIndexEntry;
        float scale =
            quantise_row(reinterpret_cast<f8 *>(to + row * kIndexDepth), rounded, kIndexDepth);
        std::memcpy(to + page_size * kIndexDepth + row * 4, &scale, 4);
    }

    template <class T>
    void run(const Arguments &a) const {
        size_t grain = size_t(kGrain / (kIndexDepth * (heads + 1))) + 1;
        parallel_for(size_t(tokens), grain, [&](size_t begin, size_t end) {
            for (size_t t = begin; t < end; ++t) queries<T>(a, int64_t(t));
        });
        // Each thread writes its own pages, so that the later of two tokens for one slot wins.
        int64_t shares = std::clamp<int64_t>(tokens / 32, 1, int64_t(thread_count()));
        parallel_for(size_t(shares), 1, [&](size_t begin, size_t end) {
            for (int64_t t = 0; t < tokens; ++t) {
                int64_t slot = a.pointer<const int64_t>(9)[t];
                if (slot < 0 || slot >= pages * page_size) continue;  // outside the cache: skipped
                int64_t page = slot / page_size;
                if (size_t(page % shares) >= begin && size_t(page % shares) < end)
                    key<T>(a, t, page, slot % page_size);
            }
        });
    }
};

std::unique_ptr<Plan> plan_fused(const Operation &operation) {
    Fused f;
    Tensor q = operation.tensor(3), cache = operation.tensor(2);
    f.tokens = q.size(0), f.heads = q.size(1), f.dtype = q.dtype;
    f.pages = cache.size(0), f.page_size = cache.size(1);
    f.norm_weight_dtype = operation.tensor(5).dtype, f.norm_bias_dtype = operation.tensor(6).dtype;
    f.positions = operation.tensor(8).size(0), f.angle_dtype = operation.tensor(8).dtype;
    f.rope = operation.integer(0);
    f.eps = operation.number(1), f.weights_scale = operation.number(2);
    return make_plan(
        [f](const Arguments &a) { visit_half(f.dtype, [&]<class T>(Type<T>) { f.run<T>(a); }); });
}
INFINI_KERNEL("fused_fp8_indexer", plan_fused);

}  // namespace
}  // namespace infini::cpu
