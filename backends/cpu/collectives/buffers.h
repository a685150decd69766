// One collective of one rank: its kind, and how its buffers are divided among the ranks.
#pragma once

#include <infini/collectives.h>

#include <algorithm>

#include "communicator.h"

namespace infini::cpu::collectives {

inline bool is_reduction(int kind) {
    return kind == INFINI_ALL_REDUCE || kind == INFINI_REDUCE || kind == INFINI_REDUCE_SCATTER;
}

// The first element of a share. Shares are whole cache lines of the smallest element, so that ranks
// do not write to the same one.
inline size_t share_begin(size_t count, int index, int shares) {
    constexpr size_t kLine = 64;
    const size_t lines = (count + kLine - 1) / kLine;
    return std::min(count, lines * size_t(index) / size_t(shares) * kLine);
}

class Buffers {
protected:
    using Bytes = unsigned char;

    explicit Buffers(const InfiniCollective &work) : w_(work), size_(element_bytes(work.dtype)) {}

    const Bytes *send() const { return static_cast<const Bytes *>(w_.send); }
    Bytes *recv() const { return static_cast<Bytes *>(w_.recv); }
    // Elements of a part, and where it begins.
    size_t part(const size_t *counts, int rank) const { return counts ? counts[rank] : w_.count; }
    size_t part_begin(const size_t *counts, int rank) const {
        if (!counts) return w_.count * size_t(rank);
        size_t sum = 0;
        for (int i = 0; i < rank; ++i) sum += counts[i];
        return sum;
    }

    const InfiniCollective &w_;
    const size_t size_;  // of an element
};

}  // namespace infini::cpu::collectives
