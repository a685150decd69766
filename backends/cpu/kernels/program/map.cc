#include "program/map.h"

#include <algorithm>
#include <cstdlib>

#include "program/pack.h"
#include "worth_threads.h"

namespace infini::cpu::program {

// The state of one thread.
struct Map::Task {
    Task(const Map &map, const SharedValues &shared, char *const *bases)
        : map(map), nest(map.nest_), shared(shared), bases(bases) {}

    void start_row(int64_t index) {
        Walk outer = nest.kept;
        outer.count = map.inner() - int(map.tile_);
        outer.locate(index, where);
        for (size_t n = 0; n < nest.slots.size(); ++n) {
            if (map.access_[n] == kUnused) continue;
            const Slot &slot = nest.slots[n];
            const int64_t offset = slot.along(slot.kept, outer, where);
            at[n] = bases[n] + (slot.kind == Slot::kPosition ? offset : offset * slot.bytes);
            if (map.access_[n] == kSplat) splat(n, at[n]);
        }
    }

    // Advances to the next row; returns the dimension that advances. Divisions would be slow.
    int next_dimension(int64_t *index) const {
        int d = map.inner() - 1;
        for (; d > 0 && index[d] + 1 == nest.kept.size[d]; --d) index[d] = 0;
        ++index[d];
        return d;
    }

    void jump(size_t n, int d) {
        const int64_t by = map.jumps_[n].by[d];
        at[n] += by;
        if (by != 0 && map.access_[n] == kSplat) splat(n, at[n]);
    }

    void next_row() {
        const int d = next_dimension(where);
        for (size_t n = 0; n < nest.slots.size(); ++n)
            if (map.access_[n] != kUnused) jump(n, d);
    }

    // Processes rows of `n` elements, starting with the current one, in a single stage whose
    // operands are all used in place.
    void unbuffered_rows(size_t rows, int64_t n) {
        const Stage &stage = nest.stages[0];
        Bound bound;
        for (size_t slot = 0; slot < nest.slots.size(); ++slot) use[slot] = at[slot];
        bind(stage, bound);
        for (;;) {
            stage.compute(bound.in, bound.steps, bound.out, size_t(n));
            if (--rows == 0) return;
            const int d = next_dimension(where);
            for (size_t i = 0; i < stage.inputs.size(); ++i) {
                const size_t slot = size_t(stage.inputs[i]);
                if (map.access_[slot] == kDirect)
                    bound.in[i] = static_cast<const char *>(bound.in[i]) + map.jumps_[slot].by[d];
                else if (map.access_[slot] == kSplat)
                    jump(slot, d);
            }
            for (size_t i = 0; i < stage.outputs.size(); ++i)
                bound.out[i] =
                    static_cast<char *>(bound.out[i]) + map.jumps_[size_t(stage.outputs[i])].by[d];
        }
    }

    void splat(size_t n, const char *from) {
        const Slot &slot = nest.slots[n];
        char *to = splats[map.splat_[n]];
        if (map.direct_) {
            return with_cell(slot.bytes, [&](auto value) {
                std::memcpy(&value, from, sizeof value);
                fill_lines(reinterpret_cast<decltype(value) *>(to), value, 1);
            });
        }
        with_type(nest.type, [&](auto one) {
            if (slot.kind == Slot::kTensor && slot.dtype == dtype_of(nest.type))
                std::memcpy(&one, from, sizeof one);
            else
                gather(nest.type, &one, slot, from, 1, 0);
            repeat(to, one);
        });
    }

    // The slot whose elements alternate with those of slot n in memory; -1 if there is none. Both
    // are moved together with the one that comes first.
    int partner(size_t n) const {
        const int other = map.partner_[n];
        return other >= 0 && std::abs(bases[n] - bases[other]) == nest.slots[n].bytes ? other : -1;
    }

    // Moves elements of a tensor to a buffer and back, with or without conversion to values.
    void take(size_t n, const char *from, int64_t count, int64_t stride) {
        const Slot &slot = nest.slots[n];
        const int other = partner(n);
        if (other >= 0) {
            if (bases[n] < bases[other])
                gather_pair(nest.type, map.direct_, buffer(n), buffer(size_t(other)), slot, from,
                            count);
            return;
        }
        if (!map.direct_) return gather(nest.type, buffer(n), slot, from, count, stride);
        with_cell(slot.bytes, [&](auto cell) {
            using E = decltype(cell);
            copy_strided(reinterpret_cast<E *>(buffer(n)), 1, reinterpret_cast<const E *>(from),
                         stride, count);
        });
    }
    void give(size_t n, char *to, int64_t count, int64_t stride) {
        const Slot &slot = nest.slots[n];
        const int other = partner(n);
        if (other >= 0) {
            if (bases[n] < bases[other])
                scatter_pair(nest.type, map.direct_, slot, to, buffer(n), buffer(size_t(other)),
                             count);
            return;
        }
        if (!map.direct_) return scatter(nest.type, slot, to, buffer(n), count, stride);
        with_cell(slot.bytes, [&](auto cell) {
            using E = decltype(cell);
            copy_strided(reinterpret_cast<E *>(to), stride, reinterpret_cast<const E *>(buffer(n)),
                         1, count);
        });
    }
    char *buffer(size_t n) { return scratch + map.buffer_[n] * map.buffer_bytes_; }

    // Elements of the current row.
    void span(int64_t begin, int64_t end) {
        if (map.repeats_ && end - begin > kBlock) return repeat_block(begin, end);
        for (int64_t i = begin; i < end; i += map.block_) {
            const int64_t count = std::min(map.block_, end - i);
            for (size_t n = 0; n < nest.slots.size(); ++n) {
                if (map.access_[n] == kUnused) continue;
                const Slot &slot = nest.slots[n];
                const int64_t stride = slot.kept[map.inner()];
                const int64_t bytes = slot.kind == Slot::kPosition ? 1 : slot.bytes;
                char *from = at[n] + i * stride * bytes;
                use[n] = from;
                if (map.access_[n] == kGather) {
                    if (map.reads_[n]) take(n, from, count, stride);
                    use[n] = buffer(n);
                }
            }
            compute(count);
            for (size_t n : map.scattered_) {
                const Slot &slot = nest.slots[n];
                const int64_t stride = slot.kept[map.inner()];
                give(n, at[n] + i * stride * slot.bytes, count, stride);
            }
        }
    }

    // All elements of a row are equal: they are computed for one block, which is then copied.
    void repeat_block(int64_t begin, int64_t end) {
        span(begin, begin + kBlock);
        for (size_t n = 0; n < nest.slots.size(); ++n) {
            if (!map.writes_[n] || map.access_[n] == kUnused) continue;
            const int64_t bytes = nest.slots[n].bytes, block = kBlock * bytes;
            char *first = at[n] + begin * bytes;
            for (int64_t i = block; i < (end - begin) * bytes; i += block)
                std::memcpy(first + i, first, size_t(std::min(block, (end - begin) * bytes - i)));
        }
    }

    // Processes the next rows as one block.
    void packed_rows(int64_t rows) {
        const int64_t count = rows * nest.kept.size[map.inner()];
        for (size_t n = 0; n < nest.slots.size(); ++n) {
            if (map.access_[n] == kUnused) continue;
            use[n] = map.access_[n] == kGather ? buffer(n) : at[n];
            if (map.access_[n] == kDirect) at[n] += count * nest.slots[n].bytes;
        }
        int64_t next[kDims];
        for (size_t n : map.gathered_) {
            char *end = move_rows(n, rows, next, true);
            if (!map.writes_[n]) at[n] = end;
        }
        compute(count);
        for (size_t n : map.scattered_) at[n] = move_rows(n, rows, next, false);
        std::copy_n(next, map.inner(), where);
    }

    // Moves the next rows of an operand between memory and its buffer. Returns the address of the
    // row after them, and its position.
    char *move_rows(size_t n, int64_t rows, int64_t *next, bool in) {
        const int outer = map.inner() - 1;
        const int64_t size = nest.kept.size[outer + 1];
        std::copy_n(where, outer + 1, next);
        const int other = partner(n);
        char *memory = at[n];
        with_packed(n, rows * size, in, [&](char *packed) {
            for (int64_t left = rows; left > 0;) {
                const int64_t some = std::min(left, nest.kept.size[outer] - next[outer]);
                if (other < 0)
                    move(n, memory, packed, some, size, in);
                else if (bases[n] < bases[other])
                    move_pair(n, memory, packed, packed - buffer(n) + buffer(size_t(other)), some,
                              size, in);
                packed += some * size * packed_bytes(n);
                left -= some;
                next[outer] += some - 1;
                memory += (some - 1) * map.jumps_[n].by[outer];
                memory += map.jumps_[n].by[next_dimension(next)];
            }
        });
        return memory;
    }

    // Rows of the second innermost dimension starting at `row`, columns of the innermost
    // starting at `column`, as one block.
    void tile(int64_t row, int64_t rows, int64_t column, int64_t columns) {
        auto move_tile = [&](size_t n, bool in) {
            const Slot &slot = nest.slots[n];
            const int64_t bytes = slot.kind == Slot::kPosition ? 1 : slot.bytes;
            const int64_t offset =
                row * slot.kept[map.inner() - 1] + column * slot.kept[map.inner()];
            with_packed(n, rows * columns, in, [&](char *packed) {
                move(n, at[n] + offset * bytes, packed, rows, columns, in);
            });
        };
        for (size_t n = 0; n < nest.slots.size(); ++n)
            if (map.access_[n] == kGather) use[n] = buffer(n);
        for (size_t n : map.gathered_) move_tile(n, true);
        compute(rows * columns);
        for (size_t n : map.scattered_) move_tile(n, false);
    }

    // Calls f with the memory for packed elements: the buffer of values, or one whose elements are
    // converted to values or from them.
    template <class F>
    void with_packed(size_t n, int64_t count, bool in, F f) {
        const Slot &slot = nest.slots[n];
        if (map.direct_ || slot.kind == Slot::kPosition || slot.dtype == dtype_of(nest.type))
            return f(buffer(n));
        char *raw = scratch + map.raw_ * map.buffer_bytes_;
        if (!in) scatter(nest.type, slot, raw, buffer(n), count, 1);
        f(raw);
        if (in) gather(nest.type, buffer(n), slot, raw, count, 1);
    }
    int64_t packed_bytes(size_t n) const {
        const Slot &slot = nest.slots[n];
        return slot.kind == Slot::kPosition ? int64_t(nest.value_bytes) : slot.bytes;
    }

    // Moves rows of the second innermost dimension between memory and a buffer.
    void move(size_t n, char *memory, char *packed, int64_t rows, int64_t columns, bool in) {
        const Slot &slot = nest.slots[n];
        const int64_t down = slot.kept[map.inner() - 1], across = slot.kept[map.inner()];
        if (slot.kind == Slot::kPosition)
            return with_type(nest.type, [&](auto zero) {
                using C = decltype(zero);
                const auto start = reinterpret_cast<intptr_t>(memory);
                for (int64_t r = 0; r < rows; ++r)
                    for (int64_t c = 0; c < columns; ++c)
                        reinterpret_cast<C *>(packed)[r * columns + c] =
                            C(start + r * down + c * across);
            });
        with_cell(slot.bytes, [&](auto cell) {
            using E = decltype(cell);
            E *there = reinterpret_cast<E *>(memory), *here = reinterpret_cast<E *>(packed);
            if (in)
                pack_rows(here, there, down, across, rows, columns);
            else
                unpack_rows(there, here, down, across, rows, columns);
        });
    }

    // The same for two operands that alternate, whose elements are not converted.
    void move_pair(size_t n, char *memory, char *first, char *second, int64_t rows, int64_t columns,
                   bool in) {
        const Slot &slot = nest.slots[n];
        const int64_t down = slot.kept[map.inner() - 1] * slot.bytes, step = columns * slot.bytes;
        for (int64_t r = 0; r < rows; ++r, memory += down, first += step, second += step)
            in ? gather_pair(nest.type, true, first, second, slot, memory, columns)
               : scatter_pair(nest.type, true, slot, memory, first, second, columns);
    }

    // The arguments of a stage's functor.
    struct Bound {
        const void *in[kMostInputs];
        ptrdiff_t steps[kMostInputs];
        void *out[kMostOutputs];
    };

    void bind(const Stage &stage, Bound &bound) {
        for (size_t i = 0; i < stage.inputs.size(); ++i) {
            const size_t n = size_t(stage.inputs[i]);
            const Slot &slot = nest.slots[n];
            bound.steps[i] = 1;
            if (slot.kind == Slot::kShared) {
                bound.in[i] = shared.at(slot.number), bound.steps[i] = 0;
            } else if (slot.kind == Slot::kElement) {
                bound.in[i] = buffer(n);
            } else if (map.access_[n] == kSplat) {
                bound.in[i] = splats[map.splat_[n]], bound.steps[i] = 0;
            } else {
                bound.in[i] = use[n];
            }
        }
        for (size_t i = 0; i < stage.outputs.size(); ++i) {
            const size_t n = size_t(stage.outputs[i]);
            bound.out[i] = nest.slots[n].kind == Slot::kElement ? buffer(n) : use[n];
        }
    }

    void compute(int64_t count) {
        for (const Stage &stage : nest.stages) {
            Bound bound;
            bind(stage, bound);
            stage.compute(bound.in, bound.steps, bound.out, size_t(count));
        }
    }

    const Map &map;
    const LoopNest &nest;
    const SharedValues &shared;
    char *const *bases;
    int64_t where[kDims];  // the current row
    char *at[kMostOperands], *use[kMostOperands];
    alignas(64) char splats[kMostInputs][kSplatBytes];
    alignas(64) char scratch[kScratch];
};

void Map::run(const Arguments &arguments, char *) const {
    const SharedValues shared(nest_, arguments);
    char *bases[kMostOperands];
    for (size_t n = 0; n < nest_.slots.size(); ++n)
        bases[n] = access_[n] == kUnused ? nullptr : nest_.slots[n].base(arguments);
    const int64_t n = nest_.kept.size[inner()];
    const int64_t outer = outer_total();
    const auto ranges = [&] { return double(outer) * double(n) / double(grain_); };
    if (tile_) {
        const int64_t rows = nest_.kept.size[inner() - 1];
        const int64_t down = (rows + tile_rows_ - 1) / tile_rows_;
        const int64_t across = (n + tile_columns_ - 1) / tile_columns_;
        const int64_t grain = std::max<int64_t>(1, grain_ / (tile_rows_ * tile_columns_));
        parallel_for_work(size_t(outer * down * across), size_t(grain), ranges() * double(rows),
                          [&](size_t begin, size_t end) {
                              Task task(*this, shared, bases);
                              for (int64_t t = int64_t(begin); t < int64_t(end); ++t) {
                                  task.start_row(t / (down * across));
                                  const int64_t r = t / across % down * tile_rows_,
                                                c = t % across * tile_columns_;
                                  task.tile(r, std::min(tile_rows_, rows - r), c,
                                            std::min(tile_columns_, n - c));
                              }
                          });
        return;
    }
    if (packed_) {
        const int64_t rows = block_ / n, blocks = (outer + rows - 1) / rows;
        const int64_t grain = std::max<int64_t>(1, grain_ / block_);
        parallel_for_work(size_t(blocks), size_t(grain), ranges(), [&](size_t begin, size_t end) {
            Task task(*this, shared, bases);
            task.start_row(int64_t(begin) * rows);
            for (int64_t t = int64_t(begin); t < int64_t(end); ++t)
                task.packed_rows(std::min(rows, outer - t * rows));
        });
        return;
    }
    // Divisions take longer than a small map; rows that are not split need none.
    constexpr int64_t kPiece = 16384;
    if (n <= kPiece) {
        const auto rows = [&](size_t begin, size_t end) {
            Task task(*this, shared, bases);
            task.start_row(int64_t(begin));
            if (unbuffered_ && end - begin > 1) return task.unbuffered_rows(end - begin, n);
            task.span(0, n);
            for (size_t t = begin + 1; t < end; ++t) {
                task.next_row();
                task.span(0, n);
            }
        };
        if (outer == 1) return rows(0, 1);
        const int64_t grain = std::max<int64_t>(1, grain_ / std::max<int64_t>(n, 1));
        return parallel_for_work(size_t(outer), size_t(grain), ranges(), rows);
    }
    const int64_t piece = kPiece, pieces = (n + piece - 1) / piece;
    const int64_t grain = std::max<int64_t>(1, grain_ / piece);
    parallel_for_work(size_t(outer * pieces), size_t(grain), ranges(),
                      [&](size_t begin, size_t end) {
                          Task task(*this, shared, bases);
                          for (int64_t t = int64_t(begin); t < int64_t(end);) {
                              const int64_t first = t % pieces;
                              const int64_t last = std::min(pieces, first + int64_t(end) - t);
                              task.start_row(t / pieces);
                              task.span(first * piece, std::min(n, last * piece));
                              t += last - first;
                          }
                      });
}

}  // namespace infini::cpu::program
