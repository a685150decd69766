// Marlin's weights as the matrix of a product: (code - zero point) * scale of the row's group.
#pragma once

#include <algorithm>

#include "../convert.h"
#include "../matmul/matmul.h"
#include "../matmul/pack.h"
#include "marlin_layout.h"

namespace infini::cpu {

struct MarlinData {
    MarlinLayout layout;
    int64_t k, n, groups;
    const uint32_t *words;
    const void *scales;  // [groups, n]
    int scale_dtype;
    const uint32_t *zeros;     // [groups, n * bits / 32], or null
    const int32_t *row_group;  // [k], or null: groups of equal size
    float bias;                // the common zero point

    int64_t group_size() const { return k / groups; }
    bool one_group() const { return groups == 1; }
    // The group of a row; -1 if its data is invalid: the row then counts as 0.
    int64_t group(int64_t row) const {
        if (!row_group) return row / group_size();
        int64_t g = row_group[row];
        return g >= 0 && g < groups ? g : -1;
    }
    float scale(int64_t group, int64_t column) const {
        if (group < 0) return 0.0f;
        return load_as<float>(scale_dtype, scales, group * n + marlin_scale(column, one_group()));
    }
    float zero(int64_t group, int64_t column) const {
        if (!zeros || group < 0) return bias;
        MarlinLayout::Place at = marlin_zero(column, layout.bits);
        uint32_t word = zeros[group * (n * layout.bits / 32) + at.word];
        return bias + float(word >> at.index * layout.bits & ((1u << layout.bits) - 1));
    }
};

class MarlinWeights final : public Weights {
public:
    explicit MarlinWeights(const MarlinData &data) : d(data) {}

    void unpack(int64_t k0, int64_t k, int64_t n0, int64_t n, float *panel,
                int64_t stride) const override {
        const bool fours = !d.layout.a_8bit && n0 % 4 == 0 && k0 % 16 == 0 && k % 16 == 0;
        const int64_t whole = fours ? n / 4 * 4 : 0;
        if (d.layout.bits == 4) {
            unpack_fours<4>(k0, k, n0, whole, panel, stride);
        } else {
            unpack_fours<8>(k0, k, n0, whole, panel, stride);
        }
        for (int64_t i = 0; i < k; ++i) {
            for (int64_t j = whole; j < n; ++j) panel[i * stride + j] = value(k0 + i, n0 + j);
        }
    }

private:
    using F4 = detail::Few<float, 4>;
    using W4 = detail::W4;

    float value(int64_t row, int64_t column) const {
        const MarlinLayout &l = d.layout;
        int64_t run = row / l.rows() * (d.n / l.columns()) + column / l.columns();
        MarlinLayout::Place at = l.place(int(row % l.rows()), int(column % l.columns()));
        uint32_t code = d.words[run * l.words() + at.word] >> at.index * l.bits;
        int64_t group = d.group(row);
        float zero = d.zero(group, column);
        return (float(code & ((1u << l.bits) - 1)) - zero) * d.scale(group, column);
    }

    template <int kBits>
    void unpack_fours(int64_t k0, int64_t k, int64_t n0, int64_t n, float *panel,
                      int64_t stride) const {
        for (int64_t j = 0; j < n; j += 4) {
            Four four(d, n0 + j);
            for (int64_t i = 0; i < k; i += 16) {
                four.template unpack<kBits>(k0 + i, panel + i * stride + j, stride);
            }
        }
    }

    // Four neighbouring columns: their codes of a row have the same bit positions in four words.
    struct Four {
        const MarlinData &d;
        const int64_t column;
        const uint32_t *words;  // of the columns in the first band
        int64_t band;           // words between bands
        int shift;              // where their codes begin
        bool uniform;           // groups are whole bands
        int64_t group = -2;     // the group of the loaded scales
        F4 scale, zero;

        Four(const MarlinData &data, int64_t first) : d(data), column(first) {
            MarlinLayout::Place place = d.layout.place(0, int(column % 64));
            band = d.n / 64 * d.layout.words();
            words = d.words + column / 64 * d.layout.words() + place.word;
            shift = place.index * d.layout.bits;
            uniform = !d.row_group && d.group_size() % 16 == 0;
        }

        template <int kBits>
        void unpack(int64_t row, float *panel, int64_t stride) {
            constexpr int kColumn = 4 * kBits, kQuarter = kBits;  // distances in words
            const uint32_t *from = words + row / 16 * band;
            if (uniform) use_group(d.group(row));
#pragma GCC unroll 4
            for (int q = 0; q < 4; ++q, from += kQuarter) {
                W4 word = {from[0], from[kColumn], from[2 * kColumn], from[3 * kColumn]};
                word >>= shift;
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) {
                    // Rows 2 q, 8 + 2 q and their successors; see MarlinLayout::place.
                    const int r = 2 * q + i % 2 * 8 + i / 2;
                    const int index = kBits == 8 ? i : i / 2 * 4 + i % 2;
                    W4 code = (word >> index * kBits) & ((1u << kBits) - 1);
                    if (!uniform) use_group(d.group(row + r));
                    F4 value = (__builtin_convertvector(as<I4>(code), F4) - zero) * scale;
                    std::memcpy(panel + r * stride, &value, sizeof value);
                }
            }
        }

        using I4 = detail::Few<int32_t, 4>;

        void use_group(int64_t wanted) {
            if (wanted == group) return;
            group = wanted;
            for (int j = 0; j < 4; ++j) {
                scale[j] = d.scale(group, column + j), zero[j] = d.zero(group, column + j);
            }
        }
    };

    const MarlinData &d;
};

}  // namespace infini::cpu
