// Winograd's algorithm for 3 x 3 windows with step 1: a tile of 2 x 2 outputs from 4 x 4 inputs
// takes 16 products instead of 36,
//
//     y = A' [ (G w G') * (B' x B) ] A,   B' = 1  0 -1  0   G = 1    0   0    A' = 1  1  1  0
//                                              0  1  1  0       1/2  1/2 1/2       0  1 -1 -1
//                                              0 -1  1  0       1/2 -1/2 1/2
//                                              0  1  0 -1       0    0   1
//
// and summed over the channels these are 16 matrix products, one for each position (u, v) of the 4
// x 4. Sums have fewer terms than in the direct algorithm, so the result is no less accurate.
#pragma once

#include "../threads.h"
#include "conv_columns.h"

namespace infini::cpu {

class Winograd {
public:
    static bool suits(const ConvShape &s) {
        bool square = s.in[0] == 1 && s.taps[0] == 1 && s.pad[0] == 0 && s.out[0] == 1;
        for (int d = 1; d < ConvShape::kDims; ++d) {
            square = square && s.taps[d] == 3 && s.step[d] == 1 && s.dilation[d] == 1;
        }
        int64_t tiles = (s.out[1] + 1) / 2 * ((s.out[2] + 1) / 2);
        square = square && s.dtype != INFINI_DTYPE_F64;
        return square && s.channels >= 16 && s.features >= 16 && tiles * s.images >= 48;
    }

    explicit Winograd(const ConvShape &shape) : s(shape) {
        down_ = (s.out[1] + 1) / 2, across_ = (s.out[2] + 1) / 2;
        // A chunk is about 800 tiles of one image, or of several small ones.
        rows_ = std::clamp<int64_t>(800 / across_, 1, down_);
        images_ = rows_ < down_ ? 1 : std::clamp<int64_t>(800 / (down_ * across_), 1, s.images);
        size_t at = 0;
        auto take = [&](int64_t floats) {
            size_t place = at;
            at += size_t(floats * 4 + 63) / 64 * 64;
            return place;
        };
        weights_ = take(16 * weight_size());
        inputs_ = take(4 * input_size());
        products_ = take(16 * apart(s.features * tiles(images_, rows_)));
        scratch_ = at;
    }

    size_t workspace() const {
        size_t most = 0;
        Columns columns{};
        for (int64_t images : {images_, s.images % images_}) {
            for (int64_t rows : {rows_, down_ % rows_}) {
                Matmul p = product(tiles(images, rows));
                p.weights = &columns;
                most = std::max(most, matmul_workspace(p));
            }
        }
        return scratch_ + most;
    }

    template <class T>
    void run(T *y, const T *x, const T *w, const T *bias, char *memory) const {
        float *weights = reinterpret_cast<float *>(memory + weights_);
        float *inputs = reinterpret_cast<float *>(memory + inputs_);
        float *products = reinterpret_cast<float *>(memory + products_);
        transform_weights(w, weights);
        for (int64_t image = 0; image < s.images; image += images_) {
            for (int64_t row = 0; row < down_; row += rows_) {
                Part part{image, std::min(images_, s.images - image), row,
                          std::min(rows_, down_ - row)};
                transform_inputs(x, part, inputs);
                for (int i = 0; i < 16; ++i) {
                    Columns columns;
                    columns.owner = this, columns.rows = part.rows, columns.u = i / 4;
                    columns.data = inputs + i % 4 * input_size();
                    Matmul p = product(tiles(part.images, part.rows));
                    p.a.data = weights + i * weight_size();
                    p.c.data = products + i * apart(s.features * p.n);
                    p.weights = &columns;
                    matmul(p, memory + scratch_);
                }
                transform_products(products, part, bias, y);
            }
        }
    }

private:
    struct Part {
        int64_t image, images, row, rows;  // rows of tiles
    };

    int64_t tiles(int64_t images, int64_t rows) const { return images * rows * across_; }
    // Rows of inputs [channels, images, 2 rows + 2, tiles across], four times: the columns of each
    // tile are already combined, for each v.
    int64_t input_rows() const { return 2 * rows_ + 2; }
    int64_t input_size() const { return apart(s.channels * images_ * input_rows() * across_); }
    int64_t weight_size() const { return apart(s.features * s.channels); }
    // Matrices that are read in parallel start at different offsets, to avoid cache conflicts.
    static int64_t apart(int64_t floats) { return (floats + 15) / 16 * 16 + 5 * 16; }

    Matmul product(int64_t columns) const {
        Matmul p;
        p.m = s.features, p.n = columns, p.k = s.channels;
        p.a = {nullptr, INFINI_DTYPE_F32, s.channels, 1, 0};
        p.c = {nullptr, INFINI_DTYPE_F32, columns, 1, 0};
        return p;
    }

    // The inputs of the products at (u, v), combined from two rows on demand.
    struct Columns final : Weights {
        const Winograd *owner = nullptr;
        const float *data = nullptr;  // the combined inputs for one v
        int64_t rows = 0;             // of tiles in this chunk
        int u = 0;

        void unpack(int64_t k0, int64_t k, int64_t n0, int64_t n, float *panel,
                    int64_t stride) const override {
            const Winograd &o = *owner;
            const int64_t across = o.across_, channel = o.images_ * o.input_rows() * across;
            int64_t row = n0 / across, column = n0 % across;
            for (int64_t j = 0; j < n;) {
                int64_t count = std::min(n - j, across - column);
                int64_t first = row / rows * o.input_rows() + row % rows * 2;
                const float *from = data + k0 * channel + first * across + column;
                combine(from, across, channel, k, count, panel + j, stride);
                j += count, column = 0, ++row;
            }
        }

        void combine(const float *from, int64_t across, int64_t channel, int64_t k, int64_t n,
                     float *to, int64_t stride) const {
            const float *a = from + across * (u == 0 ? 0 : u == 2 ? 2 : 1);
            const float *b = from + across * (u == 2 ? 1 : u == 3 ? 3 : 2);
            const float sign = u == 1 ? 1.0f : -1.0f;
            constexpr int64_t width = int64_t(kWidth<float>);
            const F32 signs = broadcast<F32>(sign);
            int64_t j = 0;
            for (; j + width <= n; j += width) {
                const float *p = a + j, *q = b + j;
                float *at = to + j;
                for (int64_t c = 0; c < k; ++c, p += channel, q += channel, at += stride) {
                    store(at, fma(load<F32>(q), signs, load<F32>(p)));
                }
            }
            for (; j < n; ++j) {
                for (int64_t c = 0; c < k; ++c) {
                    to[c * stride + j] = a[c * channel + j] + sign * b[c * channel + j];
                }
            }
        }
    };

    // Processes a vector of (feature, channel) pairs at a time.
    template <class T>
    void transform_weights(const T *w, float *to) const {
        constexpr int64_t width = int64_t(kWidth<float>);
        const int64_t size = s.features * s.channels, apart = weight_size();
        parallel_for(size_t((size + width - 1) / width), 256, [&](size_t first, size_t last) {
            for (int64_t i = int64_t(first) * width; i < int64_t(last) * width; i += width) {
                const int64_t count = std::min(width, size - i);
                alignas(64) float columns[9][width] = {};
                for (int64_t l = 0; l < count; ++l) {
                    const T *from = w + (i + l) * 9;
                    for (int j = 0; j < 9; ++j) columns[j][l] = load_element<float>(from[j]);
                }
                F32 g[3][4];  // by column, then u
                for (int j = 0; j < 3; ++j) {
                    spread(load<F32>(columns[j]), load<F32>(columns[3 + j]),
                           load<F32>(columns[6 + j]), g[j]);
                }
                for (int u = 0; u < 4; ++u) {
                    F32 row[4];
                    spread(g[0][u], g[1][u], g[2][u], row);
                    float *at = to + 4 * u * apart + i;  // the padding allows whole vectors
                    for (int v = 0; v < 4; ++v) store(at + v * apart, row[v]);
                }
            }
        });
    }

    // Multiplies three values by G, which gives four.
    INFINI_SIMD static void spread(F32 a, F32 b, F32 c, F32 (&to)[4]) {
        F32 sum = (a + c) * 0.5f, middle = b * 0.5f;
        to[0] = a, to[1] = sum + middle, to[2] = sum - middle, to[3] = c;
    }

    // Rows of the image padded with zeros, with their columns combined for the four v.
    template <class T>
    void transform_inputs(const T *x, const Part &part, float *to) const {
        const int64_t rows = 2 * part.rows + 2, width = s.in[2];
        const size_t grain = size_t(std::max<int64_t>(1, 4096 / (across_ * rows)));
        parallel_for(size_t(s.channels * part.images), grain, [&](size_t first, size_t last) {
            for (int64_t i = int64_t(first); i < int64_t(last); ++i) {
                const int64_t channel = i / part.images, image = i % part.images;
                const T *from = x + ((part.image + image) * s.all_channels + channel) * s.in_size();
                float *at = to + (channel * images_ + image) * input_rows() * across_;
                for (int64_t r = 0; r < rows; ++r, at += across_) {
                    int64_t row = 2 * part.row + r - s.pad[1];
                    bool inside = row >= 0 && row < s.in[1];
                    combine_columns(inside ? from + row * width : nullptr, at);
                }
            }
        });
    }

    template <class T>
    void combine_columns(const T *row, float *to) const {
        const int64_t size = input_size(), pad = s.pad[2], width = s.in[2];
        auto value = [&](int64_t at) {
            at -= pad;
            return row && at >= 0 && at < width ? load_element<float>(row[at]) : 0.0f;
        };
        // Tiles whose four columns are all inside the image, and those at the edges.
        int64_t low = row ? std::min(across_, (pad + 1) / 2) : across_;
        int64_t high = row ? std::clamp((width + pad - 4) / 2 + 1, low, across_) : across_;
        if (width + pad < 4) high = low;
        auto edge = [&](int64_t j) {
            float d0 = value(2 * j), d1 = value(2 * j + 1), d2 = value(2 * j + 2);
            float d3 = value(2 * j + 3);
            to[j] = d0 - d2, to[size + j] = d1 + d2;
            to[2 * size + j] = d2 - d1, to[3 * size + j] = d1 - d3;
        };
        for (int64_t j = 0; j < low; ++j) edge(j);
        for (int64_t j = high; j < across_; ++j) edge(j);
        if (!row) return;
        const T *from = row - pad;
        for (int64_t j = low; j < high; ++j) {
            float d0 = load_element<float>(from[2 * j]), d1 = load_element<float>(from[2 * j + 1]);
            float d2 = load_element<float>(from[2 * j + 2]);
            float d3 = load_element<float>(from[2 * j + 3]);
            to[j] = d0 - d2, to[size + j] = d1 + d2;
            to[2 * size + j] = d2 - d1, to[3 * size + j] = d1 - d3;
        }
    }

    template <class T>
    void transform_products(const float *products, const Part &part, const T *bias, T *y) const {
        const int64_t columns = tiles(part.images, part.rows);
        const int64_t size = apart(s.features * columns);
        const size_t grain = size_t(std::max<int64_t>(1, 1024 / (across_ * part.rows)));
        parallel_for(size_t(s.features * part.images), grain, [&](size_t first, size_t last) {
            for (int64_t i = int64_t(first); i < int64_t(last); ++i) {
                const int64_t image = i / s.features, feature = i % s.features;
                const float add = bias ? load_element<float>(bias[feature]) : 0.0f;
                T *to = y + ((part.image + image) * s.all_features + feature) * s.out_size();
                for (int64_t row = 0; row < part.rows; ++row) {
                    int64_t at = feature * columns + (image * part.rows + row) * across_;
                    int64_t line = 2 * (part.row + row);
                    write_tiles(products + at, size, add, to + line * s.out[2],
                                std::min<int64_t>(2, s.out[1] - line));
                }
            }
        });
    }

    // Transforms a row of tiles to one or two rows of outputs.
    template <class T>
    void write_tiles(const float *m, int64_t size, float add, T *to, int64_t lines) const {
        constexpr int64_t width = int64_t(kWidth<float>);
        for (int64_t j = 0; j < across_; j += width) {
            const int64_t count = std::min(width, across_ - j);
            F32 sums[2][4];  // over u, for both lines and each v
            for (int v = 0; v < 4; ++v) {
                F32 t[4];
                for (int u = 0; u < 4; ++u) {
                    const float *at = m + (4 * u + v) * size + j;
                    t[u] = count == width ? load<F32>(at) : load_partial<F32>(at, size_t(count));
                }
                sums[0][v] = t[0] + t[1] + t[2], sums[1][v] = t[1] - t[2] - t[3];
            }
            for (int64_t line = 0; line < lines; ++line) {
                const F32 *t = sums[line];
                float even[width], odd[width];
                store(even, t[0] + t[1] + t[2] + add), store(odd, t[1] - t[2] - t[3] + add);
                T *at = to + line * s.out[2] + 2 * j;
                const int64_t left = std::min(2 * width, s.out[2] - 2 * j);
                for (int64_t i = 0; i < left; ++i)
                    store_element(at[i], i % 2 ? odd[i / 2] : even[i / 2]);
            }
        }
    }

    const ConvShape s;
    int64_t down_, across_;                         // tiles
    int64_t rows_, images_;                         // per chunk
    size_t weights_, inputs_, products_, scratch_;  // offsets in the workspace
};

}  // namespace infini::cpu
