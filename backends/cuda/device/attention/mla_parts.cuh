// What the kernels of latent attention on Hopper share: queries, values and results in panels.
//
// Before this: what ring.cuh and tile.cuh want; constants kRows, kConsumers (threads),
// kValuePanels.
#pragma once

#include "ring.cuh"
#include "tile.cuh"

namespace infini {

inline constexpr int kQueryPanel = kRows * kPanelRow;

// Queries from row `first` on; to be shown to products.
INFINI_DEVICE void load_query_panels(const AttentionParams &p, const Sequence &s, int head,
                                     int first, unsigned char *to) {
    const int count = s.queries * int(p.group.divisor);
    copy_each<kDepth, kRows, kConsumers>(
        int(threadIdx.x), p.depth, p.q_stride.inner, p.vector,
        [&](int row) { return first + row < count ? query_row(p, s, head, first + row) : nullptr; },
        [&](unsigned row, unsigned piece) {
            return reinterpret_cast<T *>(to + piece / 8 * kQueryPanel +
                                         panel_place(row, piece % 8));
        });
    commit_copies();
    wait_for_copies<0>();
}

// What lies behind the last value may be anything, and must be 0 where weights are. By 128 threads;
// to be shown to products.
INFINI_DEVICE void clear_values(unsigned char *slots, const RingPlace &place, int valid) {
#pragma unroll 1
    for (int i = (valid < 0 ? 0 : valid) * 8 + int(threadIdx.x) % 128; i < kKeys * 8; i += 128)
#pragma unroll 1
        for (int panel = 0; panel < kValuePanels; ++panel)
            store(reinterpret_cast<uint32_t *>(slots + place.slot(panel) * kPanelBytes + i * 16),
                  Vec<uint32_t, 4>{0, 0, 0, 0});
}

// Results that stand in panels to where they belong, by `threads` threads: `rows` of them from row
// `first` of the block on, and `columns` from `column` on.
template <int rows, int columns, int threads>
INFINI_DEVICE void store_panels(const AttentionParams &p, const Walk &walk,
                                const unsigned char *from, int thread, int block_row, int first,
                                int column) {
    constexpr unsigned kPieces = columns / kPiece;
    const Sequence s = find_sequence(p, walk.index, walk.head);
    const int64_t inner = p.out_stride.inner;
#pragma unroll 1
    for (unsigned i = unsigned(thread); i < rows * kPieces; i += threads) {
        const unsigned row = unsigned(first) + i / kPieces;
        const unsigned piece = unsigned(column) / kPiece + i % kPieces;
        if (block_row + int(row) >= p.rows) continue;
        const T *values = reinterpret_cast<const T *>(from + piece / 8 * kQueryPanel +
                                                      panel_place(row, piece % 8));
        T *to = result_row(p, s, walk.head, block_row + int(row)) + int64_t(piece) * kPiece * inner;
        if (p.store_vector)
            store(to, load<kPiece>(values));
        else
#pragma unroll 1
            for (int j = 0; j < kPiece; ++j) to[j * inner] = values[j];
    }
}

}  // namespace infini
