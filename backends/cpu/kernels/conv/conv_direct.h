// Convolution of groups with few features, above all with one channel each: too little for a matrix
// product. A row of outputs is summed up tap by tap.
#pragma once

#include "../threads.h"
#include "conv_columns.h"

namespace infini::cpu {

class DirectConvolution {
public:
    static bool suits(const ConvShape &s) {
        const int64_t reach = s.dilation[2] * (s.taps[2] - 1) + 1;
        return s.groups > 1 && s.features < 8 && reach <= kRow / 2 && s.step[2] <= 8;
    }

    explicit DirectConvolution(const ConvShape &shape) : s(shape) {
        reach_ = s.dilation[2] * (s.taps[2] - 1) + 1;
        wide_ = std::min(kRow / 2, (kRow - reach_) / s.step[2] + 1);
        parts_ = (s.out[2] + wide_ - 1) / wide_;
    }

    template <class T>
    void run(T *y, const T *x, const T *w, const T *bias) const {
        const int64_t rows = s.images * s.all_features * s.out[0] * s.out[1];
        const int64_t work = s.out[2] * s.channels * s.tap_count() + 16;
        const size_t grain = size_t(std::max<int64_t>(1, 32768 / work));
        parallel_for(size_t(rows), grain, [&](size_t begin, size_t end) {
            for (int64_t row = int64_t(begin); row < int64_t(end); ++row)
                for (int64_t part = 0; part < parts_; ++part) some(y, x, w, bias, row, part);
        });
    }

private:
    static constexpr int64_t kRow = 1024;

    template <class T>
    void some(T *y, const T *x, const T *w, const T *bias, int64_t row, int64_t part) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        C sums[kRow / 2], buffer[kRow];
        T *to = y + row * s.out[2] + part * wide_;
        const int64_t n = std::min(wide_, s.out[2] - part * wide_);
        const int64_t o1 = row % s.out[1], o0 = row / s.out[1] % s.out[0];
        const int64_t plane = row / (s.out[1] * s.out[0]);
        const int64_t feature = plane % s.all_features, image = plane / s.all_features;
        const int64_t group = feature / s.features;
        x += (image * s.all_channels + group * s.channels) * s.in_size();
        w += feature * s.channels * s.tap_count();
        std::fill(sums, sums + n, bias ? load_element<C>(bias[feature]) : C(0));
        const int64_t first = part * wide_ * s.step[2] - s.pad[2];
        for (int64_t c = 0; c < s.channels; ++c)
            for (int64_t t0 = 0; t0 < s.taps[0]; ++t0)
                for (int64_t t1 = 0; t1 < s.taps[1]; ++t1, w += s.taps[2]) {
                    const int64_t at0 = o0 * s.step[0] + t0 * s.dilation[0] - s.pad[0];
                    const int64_t at1 = o1 * s.step[1] + t1 * s.dilation[1] - s.pad[1];
                    if (at0 < 0 || at0 >= s.in[0] || at1 < 0 || at1 >= s.in[1]) continue;
                    const T *from = x + ((c * s.in[0] + at0) * s.in[1] + at1) * s.in[2];
                    add(sums, row_at(from, first, (n - 1) * s.step[2] + reach_, buffer), w, n);
                }
        store_block(to, sums, size_t(n));
    }

    // `count` elements of a row of the image from `first` on, with zeros around it.
    template <class T, class C>
    const C *row_at(const T *row, int64_t first, int64_t count, C *buffer) const {
        if constexpr (std::is_same_v<T, C>)
            if (first >= 0 && first + count <= s.in[2]) return row + first;
        const int64_t low = std::clamp<int64_t>(-first, 0, count);
        const int64_t high = std::clamp(s.in[2] - first, low, count);
        std::fill(buffer, buffer + low, C(0));
        load_block(buffer + low, row + first + low, size_t(high - low));
        std::fill(buffer + high, buffer + count, C(0));
        return buffer;
    }

    template <class T, class C>
    void add(C *__restrict sums, const C *__restrict row, const T *w, int64_t n) const {
        using V = Vec<C>;
        constexpr int64_t width = int64_t(kWidth<C>);
        const int64_t step = s.step[2], gap = s.dilation[2], taps = s.taps[2];
        int64_t j = 0;
        if (step == 1)
            for (; j + 2 * width <= n; j += 2 * width) {
                V a = load<V>(sums + j), b = load<V>(sums + j + width);
                for (int64_t t = 0; t < taps; ++t) {
                    const V weight = broadcast<V>(load_element<C>(w[t]));
                    a = fma(load<V>(row + j + t * gap), weight, a);
                    b = fma(load<V>(row + j + t * gap + width), weight, b);
                }
                store(sums + j, a), store(sums + j + width, b);
            }
        for (int64_t t = 0; t < taps; ++t) {
            const C weight = load_element<C>(w[t]);
            const C *from = row + t * gap;
            if (step == 2)
                for (int64_t i = j; i < n; ++i) sums[i] += weight * from[2 * i];
            else
                for (int64_t i = j; i < n; ++i) sums[i] += weight * from[i * step];
        }
    }

    const ConvShape s;
    int64_t reach_;         // elements of a row that an output reads
    int64_t wide_, parts_;  // outputs at a time, and how often in a row
};

}  // namespace infini::cpu
