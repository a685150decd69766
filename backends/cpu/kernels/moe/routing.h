// What the gates share: rows of scores in F32, and the largest entries of a row.
#pragma once

#include <algorithm>
#include <limits>

#include "convert.h"
#include "functions.h"
#include "kernel.h"
#include "simd.h"
#include "threads.h"

namespace infini::cpu {

// Working memory of one row of `experts` scores; the rows are padded to whole vectors.
struct GateScratch {
    float *score, *choice, *best, *group;
    int32_t *index;

    static int64_t padded(int64_t experts) { return (experts + 15) / 16 * 16; }
    static size_t bytes(int64_t experts) { return size_t(padded(experts)) * 20; }
    GateScratch(char *memory, int64_t experts) {
        int64_t n = padded(experts);
        score = reinterpret_cast<float *>(memory);
        choice = score + n;
        best = choice + n;
        group = best + n;
        index = reinterpret_cast<int32_t *>(group + n);
    }
};

// Does `body(row, scratch)` for every row, a chunk of rows per task; each has its own scratch.
struct GateRows {
    int64_t rows = 0, experts = 0, chunks = 1;

    GateRows() = default;
    GateRows(int64_t row_count, int64_t expert_count) : rows(row_count), experts(expert_count) {
        int64_t most = 4 * int64_t(thread_count());
        chunks = std::clamp<int64_t>(rows * experts / 4096, 1, std::max<int64_t>(most, 1));
    }
    size_t workspace() const { return size_t(chunks) * GateScratch::bytes(experts); }

    template <class Body>
    void run(char *workspace, const Body &body) const {
        parallel_for(size_t(chunks), 1, [&](size_t first, size_t last) {
            for (int64_t chunk = int64_t(first); chunk < int64_t(last); ++chunk) {
                GateScratch scratch(workspace + chunk * GateScratch::bytes(experts), experts);
                int64_t end = rows * (chunk + 1) / chunks;
                for (int64_t row = rows * chunk / chunks; row < end; ++row) body(row, scratch);
            }
        });
    }
};

// Reads a row as F32 and fills the padding with `filler`.
inline void load_scores(float *score, const Shape &x, const void *data, int64_t row, float filler) {
    int64_t experts = x.size[1];
    int64_t start = row * x.stride[0];
    if (x.stride[1] == 1 || experts == 1) {
        size_t bytes = x.dtype == INFINI_DTYPE_F32 ? 4 : 2;
        to_f32(score, static_cast<const char *>(data) + start * int64_t(bytes), x.dtype,
               size_t(experts));
    } else {
        for (int64_t i = 0; i < experts; ++i) {
            score[i] = load_as<float>(x.dtype, data, start + i * x.stride[1]);
        }
    }
    for (int64_t i = experts; i < GateScratch::padded(experts); ++i) score[i] = filler;
}

template <class Function>
void map_scores(float *score, int64_t experts, const Function &function) {
    for (int64_t i = 0; i < experts; i += kWidth<float>) {
        store(score + i, function(load<F32>(score + i)));
    }
}

inline void sigmoid_scores(float *score, int64_t experts) {
    F32 one = broadcast<F32>(1.0f);
    map_scores(score, experts, [&](F32 v) { return one / (one + exp(-v)); });
}

// The padding must be -infinity.
inline void softmax_scores(float *score, int64_t experts) {
    float most = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < experts; ++i) most = score[i] > most ? score[i] : most;
    F32 shift = broadcast<F32>(most), sum = broadcast<F32>(0.0f);
    map_scores(score, experts, [&](F32 v) {
        F32 e = exp(v - shift);
        sum = sum + e;
        return e;
    });
    F32 scale = broadcast<F32>(1.0f / reduce_add(sum));
    map_scores(score, experts, [&](F32 v) { return v * scale; });
}

// The `count` largest values, descending; of equal ones the first comes first, a NaN last.
inline void select_largest(const float *value, int64_t n, int64_t count, float *best,
                           int32_t *index) {
    auto before = [](float a, float b) { return a > b || (b != b && a == a); };
    int64_t filled = 0;
    for (int64_t i = 0; i < n; ++i) {
        float v = value[i];
        if (filled == count && (count == 0 || !before(v, best[count - 1]))) continue;
        int64_t at = filled < count ? filled++ : count - 1;
        for (; at > 0 && before(v, best[at - 1]); --at) {
            best[at] = best[at - 1];
            index[at] = index[at - 1];
        }
        best[at] = v;
        index[at] = int32_t(i);
    }
}

// Overwrites the choices outside the `keep` best of `groups` equal groups with `masked`. A group
// counts by the sum of its two best.
inline void mask_groups(const GateScratch &at, int64_t experts, int64_t groups, int64_t keep,
                        float masked) {
    int64_t size = experts / groups;
    for (int64_t g = 0; g < groups; ++g) {
        float two[2] = {0, 0};
        int32_t ignored[2];
        select_largest(at.choice + g * size, size, std::min<int64_t>(size, 2), two, ignored);
        at.group[g] = two[0] + two[1];
    }
    select_largest(at.group, groups, keep, at.best, at.index);
    std::sort(at.index, at.index + keep);
    for (int64_t g = 0, next = 0; g < groups; ++g) {
        if (next < keep && at.index[next] == g) {
            ++next;
        } else {
            std::fill(at.choice + g * size, at.choice + (g + 1) * size, masked);
        }
    }
}

}  // namespace infini::cpu
