// Convolution as a product: features [M, C * taps] times columns [C * taps, outputs].
#pragma once

#include "../matmul/packed.h"
#include "../threads.h"
#include "conv_columns.h"

namespace infini::cpu {

#if defined(INFINI_AMX) || defined(INFINI_BF16_DOT)
constexpr bool kMultipliesBf16 = true;
#else
constexpr bool kMultipliesBf16 = false;
#endif

// Each image is one product, unless images are so small that reading the features again for each
// would dominate: then all are one product, whose result is reordered afterwards. With images for
// all threads, each thread computes products of its own. The columns are
//   the image itself, if each output has one tap;
//   read while the product packs them, if it computes in F32;
//   written out, a chunk at a time, if the product has a faster path for unconverted elements;
//   written out as rows, if there are few outputs: then the features, which are larger, are
//   packed once.
// For F64 the columns are written out, and sums start with the bias.
class Convolution {
public:
    Convolution(const ConvShape &shape, bool bias) : s(shape), bias_(bias) {
        joined_ = s.images > 1 && s.out_size() < 512;
        outputs_ = s.out_size() * (joined_ ? s.images : 1);
        k_ = s.channels * s.tap_count();
        plain_ = !joined_ && s.is_plain();
        rows_ = outputs_ <= 96 && s.features > outputs_;
        const bool exact = s.dtype == INFINI_DTYPE_F64;
        const bool quicker = kMultipliesBf16 && s.dtype == INFINI_DTYPE_BF16;
        written_ = !plain_ && (rows_ || quicker || exact);
        part_ = outputs_;
        // A thread for each image, if that occupies them: starting all threads for each image
        // costs more than a small product.
        const int64_t threads = int64_t(thread_count());
        if (!joined_ && threads > 1 && s.images >= threads) {
            const int64_t rounds = (s.images + threads - 1) / threads;
            const bool is_even = s.images * 4 >= rounds * threads * 3;
            if (is_even || s.features * outputs_ * k_ < kSmall) lanes_ = threads;
        }
        if (written_ && !rows_) {
            const int64_t column = element() * std::max<int64_t>(k_, 1);
            // What one thread writes stays in L2 until it is multiplied.
            const int64_t bytes = lanes_ > 1 || threads == 1 ? 512 << 10 : 4 << 20;
            part_ = std::clamp<int64_t>(bytes / column, 512, 1 << 20);
            part_ = std::min(part_, outputs_);
        }
        columns_ = joined_ ? aligned(s.images * s.features * s.out_size()) : 0;
        scratch_ = columns_ + (written_ ? aligned(k_ * part_) : 0);

        ConvColumns<float> columns(s, nullptr);  // placeholders while planning
        Epilogue epilogue;
        if (bias_ && !rows_) epilogue.row_bias_dtype = s.dtype;
        for (int64_t outputs : {part_, outputs_ % std::max<int64_t>(part_, 1)}) {
            Matmul p = product(outputs);
            if (!plain_ && !written_) p.weights = &columns;
            if ((bias_ || rows_) && !exact) p.epilogue = &epilogue;
            workspace_ = std::max(workspace_, matmul_workspace(p));
        }
        workspace_ = (workspace_ + size_t(scratch_) + 63) / 64 * 64;
    }

    size_t workspace() const { return size_t(lanes_) * workspace_; }

    // Computes one group: the pointers are those of its first channel and feature.
    template <class T>
    void run(T *y, const T *x, const T *w, const T *bias, char *memory) const {
        T *staging = reinterpret_cast<T *>(memory);
        Epilogue epilogue;
        const Epilogue *use = nullptr;
        if constexpr (!std::is_same_v<T, double>) {
            if (rows_ && bias_) epilogue.bias = bias, epilogue.bias_dtype = s.dtype;
            if (!rows_ && bias_) {
                epilogue.context = bias, epilogue.finish = add_bias<T>;
                epilogue.row_bias = bias, epilogue.row_bias_dtype = s.dtype;
            }
            use = rows_ || bias_ ? &epilogue : nullptr;
        }
        if (joined_) {
            multiply(staging, x, w, bias, use, memory);
            return put_in_order(staging, y);
        }
        auto run_lanes = [&](size_t begin, size_t end) {
            for (int64_t lane = int64_t(begin); lane < int64_t(end); ++lane)
                for (int64_t image = s.images * lane / lanes_;
                     image < s.images * (lane + 1) / lanes_; ++image)
                    multiply(y + image * s.all_features * outputs_,
                             x + image * s.all_channels * s.in_size(), w, bias, use,
                             memory + size_t(lane) * workspace_);
        };
        parallel_for(size_t(lanes_), 1, run_lanes);
    }

private:
    int64_t element() const { return int64_t(infiniSizeOf(infiniDtype_t(s.dtype))); }
    int64_t aligned(int64_t elements) const { return (elements * element() + 63) / 64 * 64; }

    // The product for some outputs, without pointers.
    Matmul product(int64_t outputs) const {
        Matmul p;
        p.k = k_, p.threads = lanes_ == 1;
        if (rows_) {
            p.m = outputs, p.n = s.features;
            p.a = {nullptr, s.dtype, 1, outputs, 0};
            p.b = {nullptr, s.dtype, 1, k_, 0};
            p.c = {nullptr, s.dtype, 1, outputs_, 0};
        } else {
            p.m = s.features, p.n = outputs;
            p.a = {nullptr, s.dtype, k_, 1, 0};
            p.b = {nullptr, s.dtype, outputs, 1, 0};
            p.c = {nullptr, s.dtype, outputs_, 1, 0};
        }
        return p;
    }

    // Runs one product: of an image, or of all.
    template <class T>
    void multiply(T *y, const T *x, const T *w, const T *bias, const Epilogue *epilogue,
                  char *memory) const {
        const ConvColumns<T> columns(s, x);
        const bool begun = bias && std::is_same_v<T, double>;
        for (int64_t f = 0; begun && f < s.features; ++f)
            std::fill(y + f * outputs_, y + (f + 1) * outputs_, bias[f]);
        T *written = reinterpret_cast<T *>(memory + columns_);
        for (int64_t first = 0; first < outputs_; first += part_) {
            const int64_t outputs = std::min(part_, outputs_ - first);
            Matmul p = product(outputs);
            p.epilogue = epilogue;
            p.beta = begun ? 1 : 0;
            p.c.data = y + first;
            if (written_) write(columns, first, outputs, written);
            const T *from = plain_ ? x : written;
            p.a.data = rows_ ? from : w, p.b.data = rows_ ? w : from;
            if (!plain_ && !written_) p.weights = &columns;
            matmul(p, memory + scratch_);
        }
    }

    template <class T>
    void write(const ConvColumns<T> &columns, int64_t first, int64_t outputs, T *to) const {
        const int64_t block = 64, blocks = (k_ + block - 1) / block;
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / (block * outputs)));
        maybe_parallel(lanes_ == 1, blocks, int64_t(grain), [&](size_t begin, size_t end) {
            for (int64_t k = int64_t(begin) * block; k < int64_t(end) * block; k += block) {
                columns.write(k, std::min(block, k_ - k), first, outputs, to + k * outputs,
                              outputs);
            }
        });
    }

    template <class T>
    static void add_bias(const void *context, float *values, int64_t row, int64_t, int64_t n) {
        float add = load_element<float>(static_cast<const T *>(context)[row]);
        for (int64_t j = 0; j < n; ++j) values[j] += add;
    }

    // Reorders [features, images, outputs] to [images, features, outputs].
    template <class T>
    void put_in_order(const T *from, T *to) const {
        size_t outputs = size_t(s.out_size());
        size_t grain = std::max<size_t>(1, 32768 / outputs);
        parallel_for(size_t(s.images * s.features), grain, [&](size_t first, size_t last) {
            for (size_t row = first; row < last; ++row) {
                size_t image = row / size_t(s.features), feature = row % size_t(s.features);
                const T *source = from + (feature * size_t(s.images) + image) * outputs;
                T *place = to + (image * size_t(s.all_features) + feature) * outputs;
                std::copy(source, source + outputs, place);
            }
        });
    }

    static constexpr int64_t kSmall = 1 << 28;  // multiplications for an image

    ConvShape s;
    bool bias_, joined_, plain_, rows_, written_;
    int64_t outputs_, k_;        // per product
    int64_t part_;               // outputs at a time
    int64_t columns_, scratch_;  // offsets in the workspace, after the unordered result
    int64_t lanes_ = 1;          // threads that process images of their own
    size_t workspace_ = 0;       // of each
};

}  // namespace infini::cpu
