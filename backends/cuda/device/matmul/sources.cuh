// Sources of operand elements. A source provides runs of elements of its lines (the rows of a, the
// columns of b): along k, or across lines at one k.
//
//     Line line(int outer)              state of a line, whose index is relative to the tile
//     int left(line, k)                 number of elements that exist in a run from there
//     const T *address(line, k)         their address, if they are a 16-byte vector (kVector)
//     Raw<n> fetch<n>(line, k)          starts loading a run of n
//     void finish(raw, T (&values)[n])  converts them to elements; 0 for those out of bounds
#pragma once

#include "prelude.cuh"
#include "product_params.h"

namespace infini {

template <class T, int n>
struct Run {
    T value[n];
};

// A strided matrix. `vector`: chunks of 16 bytes are contiguous and aligned.
template <class Element, bool along_k, bool vector>
struct StridedSource {
    using T = Element;
    static constexpr bool kAlongK = along_k, kVector = vector;

    struct Line {
        const T *data;
        int lines;  // number of lines from this one on
    };
    template <int n>
    using Raw = Run<T, n>;

    const T *data;  // the tile's first line
    int64_t line_stride, along_stride;
    int lines, depth;  // lines from the tile's first one on; elements per line

    INFINI_DEVICE StridedSource(const MatmulOperand &operand, int64_t batch, int first, int count,
                                int depth)
        : data(static_cast<const T *>(operand.data) + batch * operand.batch + first * operand.line),
          line_stride(operand.line),
          along_stride(operand.along),
          lines(count - first),
          depth(depth) {}

    INFINI_DEVICE Line line(int outer) const {
        const int left = lines - outer;
        return {left > 0 ? data + outer * line_stride : data, left > 0 ? left : 0};
    }
    INFINI_DEVICE int left(const Line &line, int k) const {
        if constexpr (along_k) return line.lines > 0 ? depth - k : 0;
        return k < depth ? line.lines : 0;
    }
    INFINI_DEVICE const T *address(const Line &line, int k) const {
        if constexpr (along_k && vector) return line.data + k;
        return line.data + k * along_stride;
    }

    template <int n>
    INFINI_DEVICE Run<T, n> fetch(const Line &line, int k) const {
        const int count = left(line, k);
        const T *from = address(line, k);
        const int64_t step = along_k ? along_stride : line_stride;
        Run<T, n> run;
        if constexpr (vector) {
            if (count >= n) {
                Vec<T, n> values = load<n>(from);
#pragma unroll
                for (int i = 0; i < n; ++i) run.value[i] = values[i];
                return run;
            }
        }
#pragma unroll
        for (int i = 0; i < n; ++i) run.value[i] = i < count ? from[i * step] : T{};
        return run;
    }
    template <int n>
    INFINI_DEVICE void finish(const Run<T, n> &raw, T (&values)[n]) const {
#pragma unroll
        for (int i = 0; i < n; ++i) values[i] = raw.value[i];
    }
};

}  // namespace infini
