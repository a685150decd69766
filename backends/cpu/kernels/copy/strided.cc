#include "copy/strided.h"

#include <algorithm>
#include <cstring>

#include "copy/transpose.h"
#include "copy/write.h"
#include "threads.h"

namespace infini::cpu {
namespace {

constexpr int64_t kPiece = 64 << 10;            // bytes that justify another thread
constexpr int64_t kFew = 6;                     // lines that do not justify a block
constexpr int64_t kStreams = int64_t(8) << 20;  // larger results bypass the caches

// Blocks for transposition: kRows lines of the destination, kColumns elements of each. Both sides
// are accessed in whole cache lines, and the working set fits in L1.
template <class E>
struct Block {
    static constexpr int64_t kBytes = sizeof(E), kLine = 64 / kBytes;
    static constexpr bool kSmall = kBytes < 4;  // uses a buffer that holds rows of the result
    static constexpr int64_t kRows = 256 / kBytes;
    static constexpr int64_t kColumns = kSmall ? 128 : 4 * kLine;
    static constexpr int64_t kPitch = kColumns * kBytes + 64;  // of the buffer
};

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

}  // namespace

StridedCopy::StridedCopy(size_t element, int ndim, const int64_t *sizes, const int64_t *dst_strides,
                         const int64_t *src_strides)
    : element_(int64_t(element)) {
    int64_t total = element_;
    for (int i = 0; i < ndim; ++i) {
        total *= sizes[i];
        if (sizes[i] != 1)
            dims_[ndim_++] = {sizes[i], dst_strides[i] * element_, src_strides[i] * element_};
    }
    if (total == 0) return;
    streams_ = total >= kStreams;

    // In the destination's memory order; merges dimensions where both layouts allow it.
    std::stable_sort(dims_, dims_ + ndim_, [](const Dim &a, const Dim &b) {
        return magnitude(a.dst) != magnitude(b.dst) ? magnitude(a.dst) > magnitude(b.dst)
                                                    : magnitude(a.src) > magnitude(b.src);
    });
    int joined = 0;
    for (int i = 0; i < ndim_; ++i) {
        const Dim dim = dims_[i];
        if (joined && dims_[joined - 1].dst == dim.dst * dim.size &&
            dims_[joined - 1].src == dim.src * dim.size)
            dims_[joined - 1] = {dims_[joined - 1].size * dim.size, dim.dst, dim.src};
        else
            dims_[joined++] = dim;
    }
    ndim_ = joined;

    // A short run on both sides is treated as a larger element.
    run_ = element_;
    if (ndim_ && dims_[ndim_ - 1].dst == element_ && dims_[ndim_ - 1].src == element_)
        run_ = element_ * dims_[--ndim_].size;
    const bool moves = run_ <= 16 && (run_ & (run_ - 1)) == 0;
    if (!moves || ndim_ == 0) {
        way_ = Way::kRuns;
        // Out-of-order reads cost more than writes of whole lines.
        if (run_ >= 64)
            std::stable_sort(dims_, dims_ + ndim_, [](const Dim &a, const Dim &b) {
                return magnitude(a.src) > magnitude(b.src);
            });
    } else {
        element_ = run_;
        way_ = Way::kElements;
        Dim &inner = dims_[ndim_ - 1];
        // The dimension that is densest in the source, if it is not the innermost one.
        int dense = ndim_ - 1;
        for (int i = 0; i < ndim_ - 1; ++i)
            if (dims_[i].src && magnitude(dims_[i].src) < magnitude(dims_[dense].src)) dense = i;
        if (dense != ndim_ - 1 && dims_[dense].size > 1 && inner.src &&
            std::min(dims_[dense].size, inner.size) < kFew) {
            // Planes of a few channels are excluded: blocks would consist mostly of edges.
            if (dims_[dense].size > inner.size)
                std::rotate(dims_ + dense, dims_ + dense + 1, dims_ + ndim_);
        } else if (dense != ndim_ - 1 && dims_[dense].size > 1 && inner.src) {
            way_ = inner.dst == element_ && dims_[dense].src == element_ ? Way::kTransposed
                                                                         : Way::kBlocks;
            std::rotate(dims_ + dense, dims_ + dense + 1, dims_ + ndim_ - 1);
        }
    }
    const int inside = way_ == Way::kRuns ? 0 : way_ == Way::kElements ? 1 : 2;
    for (int i = 0; i < ndim_ - inside; ++i) outer_ *= dims_[i].size;
}

// Calls body(dst offset, src offset) for the indices [begin, end) of the first `outer` dimensions.
template <class Body>
void StridedCopy::walk(int outer, size_t begin, size_t end, const Body &body) const {
    if (outer == 0) {
        body(int64_t(0), int64_t(0));
        return;
    }
    int64_t index[kMost], dst = 0, src = 0, rest = int64_t(begin);
    for (int i = outer - 1; i >= 0; --i) {
        index[i] = rest % dims_[i].size, rest /= dims_[i].size;
        dst += index[i] * dims_[i].dst, src += index[i] * dims_[i].src;
    }
    const Dim last = dims_[outer - 1];
    for (size_t done = begin; done < end;) {
        const int64_t stop = std::min<int64_t>(last.size, index[outer - 1] + int64_t(end - done));
        done += size_t(stop - index[outer - 1]);
        for (int64_t i = index[outer - 1]; i < stop; ++i, dst += last.dst, src += last.src)
            body(dst, src);
        // Carries into the preceding dimensions.
        dst -= last.size * last.dst, src -= last.size * last.src, index[outer - 1] = 0;
        for (int i = outer - 2; i >= 0; --i) {
            dst += dims_[i].dst, src += dims_[i].src;
            if (++index[i] < dims_[i].size) break;
            dst -= dims_[i].size * dims_[i].dst, src -= dims_[i].size * dims_[i].src;
            index[i] = 0;
        }
    }
}

void StridedCopy::one_run(char *dst, const char *src) const {
    const size_t grain = size_t(std::max(kPiece, run_ / 64));
    parallel_for(size_t(run_), grain, [=](size_t begin, size_t end) {
        std::memcpy(dst + begin, src + begin, end - begin);
    });
}

void StridedCopy::runs(char *dst, const char *src) const {
    const int64_t step = dims_[ndim_ - 1].src;
    const int64_t ahead = step == run_ ? 0 : step * std::max<int64_t>(1, 2048 / run_);
    if (outer_ * run_ <= kPiece || outer_ >= int64_t(2 * thread_count())) {
        const size_t grain = size_t(std::max<int64_t>(1, kPiece / run_));
        parallel_for(size_t(outer_), grain, [=, this](size_t begin, size_t end) {
            if (run_ <= 64)
                walk(ndim_, begin, end,
                     [=, this](int64_t d, int64_t s) { copy_short(dst + d, src + s, run_); });
            else if (run_ <= 2048)
                walk(ndim_, begin, end, [=, this](int64_t d, int64_t s) {
                    if (ahead)  // too short for the hardware prefetcher
                        for (int64_t i = 0; i < run_; i += 64)
                            __builtin_prefetch(src + s + ahead + i);
                    write_row(dst + d, src + s, run_, false);
                });
            else
                walk(ndim_, begin, end, [=, this](int64_t d, int64_t s) {
                    std::memcpy(dst + d, src + s, size_t(run_));
                });
        });
    } else {  // few long runs
        walk(ndim_, 0, size_t(outer_),
             [=, this](int64_t d, int64_t s) { one_run(dst + d, src + s); });
    }
}

namespace {

// Fills whole lines with one value.
template <class E>
void fill_cells(char *to, E value, int64_t count) {
    constexpr int64_t kBytes = sizeof(E), kLine = 64;
    char line[kLine];
    for (int64_t i = 0; i < kLine; i += kBytes) store_cell(line + i, value);
    const int64_t bytes = count * kBytes;
    int64_t i = 0;
    for (; i + kLine <= bytes; i += kLine) std::memcpy(to + i, line, kLine);
    std::memcpy(to + i, line, size_t(bytes - i));
}

}  // namespace

namespace {

// Strides are parameters, because byte stores may alias captured variables, which would then be
// reloaded for each element.
template <class E>
[[gnu::noinline]] void copy_cells(char *to, int64_t to_step, const char *from, int64_t from_step,
                                  int64_t count) {
    int64_t i = 0;
    for (; i + 4 <= count; i += 4, to += 4 * to_step, from += 4 * from_step) {
        const E a = load_cell<E>(from), b = load_cell<E>(from + from_step);
        const E c = load_cell<E>(from + 2 * from_step), d = load_cell<E>(from + 3 * from_step);
        store_cell(to, a), store_cell(to + to_step, b);
        store_cell(to + 2 * to_step, c), store_cell(to + 3 * to_step, d);
    }
    for (; i < count; ++i, to += to_step, from += from_step) store_cell(to, load_cell<E>(from));
}

}  // namespace

template <class E>
void StridedCopy::elements(char *dst, const char *src) const {
    const Dim inner = dims_[ndim_ - 1];
    auto piece = [=](char *to, const char *from, int64_t count) {
        if (inner.src == 0) {
            const E value = load_cell<E>(from);
            if (inner.dst == int64_t(sizeof(E)))
                fill_cells(to, value, count);
            else
                for (int64_t i = 0; i < count; ++i) store_cell(to + i * inner.dst, value);
        } else if (inner.dst == int64_t(sizeof(E))) {
            const int64_t i =
                inner.src == 2 * int64_t(sizeof(E)) ? every_second<E>(to, from, count) : 0;
            copy_cells<E>(to + i * int64_t(sizeof(E)), sizeof(E), from + i * inner.src, inner.src,
                          count - i);
        } else {
            copy_cells<E>(to, inner.dst, from, inner.src, count);
        }
    };
    const int64_t enough = kPiece / int64_t(sizeof(E));  // elements that justify a thread
    if (outer_ * inner.size <= enough || outer_ >= int64_t(2 * thread_count())) {
        const size_t grain = size_t(std::max<int64_t>(1, enough / inner.size));
        parallel_for(size_t(outer_), grain, [=, this](size_t begin, size_t end) {
            walk(ndim_ - 1, begin, end,
                 [=](int64_t d, int64_t s) { piece(dst + d, src + s, inner.size); });
        });
    } else {
        walk(ndim_ - 1, 0, size_t(outer_), [=](int64_t d, int64_t s) {
            parallel_for(size_t(inner.size), size_t(enough), [=](size_t begin, size_t end) {
                piece(dst + d + int64_t(begin) * inner.dst, src + s + int64_t(begin) * inner.src,
                      int64_t(end - begin));
            });
        });
    }
}

namespace {

// to[i][j] = from[j][i]; rows and columns are those of the destination. `streams`: its lines are
// aligned, and not read soon.
template <class E>
void transpose(char *to, int64_t to_row, const char *from, int64_t from_row, int64_t rows,
               int64_t columns, bool streams) {
    using B = Block<E>;
    // Prefetches four lines of each row of the next block while this one is processed: rows of the
    // source are too far apart for the hardware prefetcher.
    auto fetch = [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
            __builtin_prefetch(from + k / 4 * from_row + B::kRows * B::kBytes + k % 4 * 64);
    };
    if constexpr (B::kSmall) {
        alignas(64) char buffer[B::kRows * B::kPitch];
        fetch(0, 4 * columns);
        transpose_block<E>(buffer, B::kPitch, from, from_row, columns, rows);
        for (int64_t i = 0; i < rows; ++i)
            write_row(to + i * to_row, buffer + i * B::kPitch, columns * B::kBytes, streams);
    } else {
        constexpr int64_t kLanes = 16 / B::kBytes;
        const int64_t whole_rows = rows / kLanes * kLanes, whole = columns / B::kLine * B::kLine;
        // Rows whose distance is a power of two map to the same few cache sets and would evict each
        // other before a line is completely used: such a block is copied to a buffer first.
        alignas(64) char buffer[B::kColumns * B::kPitch];
        const char *source = from;
        int64_t pitch = from_row;
        if (from_row % 2048 == 0 && rows == B::kRows && whole > 0) {
            for (int64_t j = 0; j < whole; ++j)
                write_row(buffer + j * B::kPitch, from + j * from_row, B::kRows * B::kBytes, false);
            source = buffer, pitch = B::kPitch;
        }
        for (int64_t j = 0; j < whole; j += B::kLine)
            for (int64_t i = 0; i < whole_rows; i += kLanes) {
                const int64_t lines = 4 * j + i / kLanes * (B::kLine / 4);
                fetch(lines, lines + B::kLine / 4);
                transpose_lines<E>(to + i * to_row + j * B::kBytes, to_row,
                                   source + j * pitch + i * B::kBytes, pitch, streams);
            }
        if (whole_rows < rows)
            transpose_block<E>(to + whole_rows * to_row, to_row, from + whole_rows * B::kBytes,
                               from_row, whole, rows - whole_rows);
        if (whole < columns)
            transpose_block<E>(to + whole * B::kBytes, to_row, from + whole * from_row, from_row,
                               columns - whole, rows);
    }
}

}  // namespace

// The last dimension is the densest of the destination, the second last is that of the source.
template <class E, bool kTransposed>
void StridedCopy::blocks(char *dst, const char *src) const {
    using B = Block<E>;
    const Dim row = dims_[ndim_ - 2], column = dims_[ndim_ - 1];
    // Aligns blocks to cache lines of the destination, if all its rows have the same alignment.
    const bool even = kTransposed && row.dst % 64 == 0;
    const int64_t lead = even ? int64_t(uintptr_t(dst) % 64) / B::kBytes : 0;
    const bool streams = streams_ && even && uintptr_t(dst) % size_t(B::kBytes) == 0;
    const int64_t row_blocks = (row.size + B::kRows - 1) / B::kRows;
    const int64_t column_blocks = (column.size + lead + B::kColumns - 1) / B::kColumns;
    const int64_t block_count = row_blocks * column_blocks;
    const int64_t block_bytes =
        std::min(B::kRows, row.size) * std::min(B::kColumns, column.size) * B::kBytes;

    auto block = [=](char *to, const char *from, int64_t rows, int64_t columns, bool aligned) {
        if constexpr (kTransposed) {
            transpose<E>(to, row.dst, from, column.src, rows, columns, streams && aligned);
        } else {
            for (int64_t i = 0; i < rows; ++i)
                copy_cells<E>(to + i * row.dst, column.dst, from + i * row.src, column.src,
                              columns);
        }
    };
    const size_t grain = size_t(std::max<int64_t>(1, kPiece / 2 / block_bytes));
    parallel_for(size_t(outer_ * block_count), grain, [=, this](size_t begin, size_t end) {
        for (size_t at = begin; at < end;) {
            const size_t outer = at / size_t(block_count);
            const size_t stop = std::min(end, (outer + 1) * size_t(block_count));
            walk(ndim_ - 2, outer, outer + 1, [&](int64_t d, int64_t s) {
                for (; at < stop; ++at) {
                    const int64_t inside = int64_t(at - outer * size_t(block_count));
                    const int64_t i = inside % row_blocks * B::kRows;
                    const int64_t first = inside / row_blocks * B::kColumns - lead;
                    const int64_t j = std::max<int64_t>(first, 0);
                    const int64_t last = std::min(first + B::kColumns, column.size);
                    block(dst + d + i * row.dst + j * column.dst,
                          src + s + i * row.src + j * column.src, std::min(B::kRows, row.size - i),
                          last - j, d % 64 == 0 && j == first);
                }
            });
        }
        finish_writes(streams);
    });
}

void StridedCopy::run(void *to, const void *from) const {
    char *dst = static_cast<char *>(to);
    const char *src = static_cast<const char *>(from);
    auto with = [&](auto element) {
        using E = decltype(element);
        switch (way_) {
            case Way::kNothing:
                break;
            case Way::kRuns:
                ndim_ == 0 ? one_run(dst, src) : runs(dst, src);
                break;
            case Way::kElements:
                elements<E>(dst, src);
                break;
            case Way::kTransposed:
                blocks<E, true>(dst, src);
                break;
            case Way::kBlocks:
                blocks<E, false>(dst, src);
                break;
        }
    };
    switch (element_) {
        case 1:
            return with(Cell<1>());
        case 2:
            return with(Cell<2>());
        case 4:
            return with(Cell<4>());
        case 8:
            return with(Cell<8>());
        default:
            return with(Cell<16>());
    }
}

}  // namespace infini::cpu
