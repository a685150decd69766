// A tile of a tensor, read along its lines (coalesced) and stored so that it can be read
// transposed.
#pragma once

namespace infini {

// tile[a][b] = from[a * apart + b], by all threads of the block; `width` neighbours at a time. The
// pitch avoids bank conflicts in both directions.
template <int width, class T, int size, int pitch, class Index>
INFINI_DEVICE void read_tile(T (&tile)[size][pitch], const T *from, Index apart, int lines,
                             int columns) {
    constexpr int kVectors = size / width, kSteps = (size * kVectors + kThreads - 1) / kThreads;
    Vec<T, width> values[kSteps];
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
        const int i = s * kThreads + int(threadIdx.x), a = i / kVectors, b = i % kVectors * width;
        if (a >= columns || b >= lines) continue;
        if (b + width <= lines) {
            values[s] = load<width>(from + a * apart + b);
        } else {
#pragma unroll
            for (int k = 0; k < width; ++k)
                if (b + k < lines) values[s][k] = from[a * apart + b + k];
        }
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
        const int i = s * kThreads + int(threadIdx.x), a = i / kVectors, b = i % kVectors * width;
        if (a >= columns) continue;
#pragma unroll
        for (int k = 0; k < width; ++k) tile[a][b + k] = values[s][k];
    }
}

}  // namespace infini
