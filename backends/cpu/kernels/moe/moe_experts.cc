#include "moe_experts.h"

#include "../threads.h"

namespace infini::cpu {
namespace {

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

template <class F>
void visit_float(int dtype, F &&f) {
    if (dtype == INFINI_DTYPE_F16) return f(Type<f16>{});
    if (dtype == INFINI_DTYPE_BF16) return f(Type<bf16>{});
    f(Type<float>{});
}

// sum += row * scale
template <class T>
void add_scaled(const T *row, float scale, float *sum, int64_t n) {
    constexpr int64_t width = int64_t(kWidth<float>);
    const F32 factor = broadcast<F32>(scale);
    int64_t i = 0;
    for (; i + width <= n; i += width) {
        store(sum + i, fma(load_f32(row + i), factor, load<F32>(sum + i)));
    }
    for (; i < n; ++i) sum[i] += load_element<float>(row[i]) * scale;
}

}  // namespace

Experts::Experts(const ExpertShape &shape) : s(shape) {
    constexpr int64_t kMost = int64_t(1) << 42;
    if (std::max({s.hidden, s.wide, s.inner, s.experts}) > kMost || s.pairs() > INT32_MAX) {
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                      "more tokens or features than can be counted"};
    }
    block_ = std::min<int64_t>(s.pairs(), 512);
    int64_t at = aligned((s.experts + 2) * int64_t(sizeof(int64_t)));
    auto take = [&](int64_t bytes) {
        int64_t place = at;
        at += aligned(bytes);
        return place;
    };
    order_ = take(s.pairs() * int64_t(sizeof(int32_t)));
    rows_ = take(block_ * s.hidden * s.element());
    wide_ = take(block_ * s.wide * s.element());
    inner_ = take(block_ * s.inner * s.element());
    sums_ = take(s.tokens * s.hidden * int64_t(sizeof(float)));
    scratch_ = at;
}

void Experts::sort(const ExpertData &data, char *memory) const {
    // Counts are stored two entries ahead, so that filling moves each start to its final position.
    auto *start = reinterpret_cast<int64_t *>(memory);
    auto *order = reinterpret_cast<int32_t *>(memory + order_);
    auto valid = [&](int64_t pair) { return data.ids[pair] >= 0 && data.ids[pair] < s.experts; };
    std::fill(start, start + s.experts + 2, 0);
    for (int64_t pair = 0; pair < s.pairs(); ++pair) {
        if (valid(pair)) ++start[data.ids[pair] + 2];
    }
    for (int64_t e = 2; e < s.experts + 2; ++e) start[e] += start[e - 1];
    for (int64_t pair = 0; pair < s.pairs(); ++pair) {
        if (valid(pair)) order[start[data.ids[pair] + 1]++] = int32_t(pair);
    }
    auto *sums = reinterpret_cast<float *>(memory + sums_);
    parallel_for(size_t(s.tokens * s.hidden), 65536,
                 [&](size_t first, size_t last) { std::fill(sums + first, sums + last, 0.0f); });
}

const void *Experts::gather(const ExpertData &data, int64_t row, int64_t rows, char *memory) const {
    const int32_t *pairs = order(memory) + row;
    const char *in = static_cast<const char *>(data.in);
    const size_t bytes = size_t(s.hidden * s.element());
    if (rows == 1) return in + size_t(pairs[0] / s.choices) * bytes;
    parallel_for(size_t(rows), std::max<size_t>(1, 65536 / std::max<size_t>(bytes, 1)),
                 [&](size_t first, size_t last) {
                     for (size_t i = first; i < last; ++i) {
                         std::memcpy(memory + rows_ + i * bytes,
                                     in + size_t(pairs[i] / s.choices) * bytes, bytes);
                     }
                 });
    return memory + rows_;
}

void Experts::activate(const ExpertData &data, int64_t row, int64_t rows, char *memory) const {
    const int32_t *pairs = order(memory) + row;
    const size_t grain = size_t(std::max<int64_t>(1, 4096 / std::max<int64_t>(s.inner, 1)));
    visit_float(s.dtype, [&]<class T>(Type<T>) {
        auto *wide = reinterpret_cast<const T *>(memory + wide_);
        auto *inner = reinterpret_cast<T *>(memory + inner_);
        parallel_for(size_t(rows), grain, [&](size_t first, size_t last) {
            for (int64_t i = int64_t(first); i < int64_t(last); ++i) {
                float scale = s.scale_inside ? data.scales[pairs[i]] : 1.0f;
                apply_gate(s.gate, wide + i * s.wide, inner + i * s.inner, s.inner, scale);
            }
        });
    });
}

void Experts::add(const ExpertData &data, int64_t row, int64_t rows, char *memory) const {
    const int32_t *pairs = order(memory) + row;
    auto *sums = reinterpret_cast<float *>(memory + sums_);
    // Divided by columns, because a token may be in several rows.
    constexpr int64_t kColumns = 128;
    const int64_t blocks = (s.hidden + kColumns - 1) / kColumns;
    const size_t grain = size_t(std::max<int64_t>(1, 128 / rows));
    visit_float(s.dtype, [&]<class T>(Type<T>) {
        auto *part = reinterpret_cast<const T *>(memory + rows_);
        parallel_for(size_t(blocks), grain, [&](size_t first, size_t last) {
            int64_t begin = int64_t(first) * kColumns;
            int64_t end = std::min(int64_t(last) * kColumns, s.hidden);
            for (int64_t i = 0; i < rows; ++i) {
                float scale = s.scale_inside ? 1.0f : data.scales[pairs[i]];
                add_scaled(part + i * s.hidden + begin, scale,
                           sums + pairs[i] / s.choices * s.hidden + begin, end - begin);
            }
        });
    });
}

void Experts::finish(const ExpertData &data, char *memory) const {
    auto *sums = reinterpret_cast<const float *>(memory + sums_);
    parallel_for(size_t(s.tokens * s.hidden), 16384, [&](size_t first, size_t last) {
        from_f32(static_cast<char *>(data.out) + first * size_t(s.element()), s.dtype, sums + first,
                 last - first);
    });
}

}  // namespace infini::cpu
