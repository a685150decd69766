// Elementwise maps. The innermost dimension is cut into blocks; operands in the form that functors
// require (right type, stride 1) are used in place, others go through buffers.
#include <algorithm>
#include <cstdlib>

#include "program/cast.h"
#include "program/runner.h"
#include "program/tile.h"
#include "worth_threads.h"

namespace infini::cpu::program {
namespace {

enum Access : uint8_t { kUnused, kDirect, kSplat, kGather };

constexpr int64_t kScratch = 64 << 10;

class Map final : public Runner {
public:
    explicit Map(LoopNest nest) : nest_(std::move(nest)) {
        choose_inner();
        choose_direct();
        choose_access();
        choose_tile();
        reads_.assign(nest_.slots.size(), false);
        for (const Stage &stage : nest_.stages)
            for (int number : stage.inputs) reads_[size_t(number)] = true;
        for (const Stage &stage : nest_.stages)
            for (int number : stage.outputs)
                if (access_[size_t(number)] == kGather) scattered_.push_back(size_t(number));
        choose_blocks();
        choose_jumps();
    }

    void run(const Arguments &arguments, char *) const override {
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

private:
    void choose_blocks() {
        buffer_.assign(nest_.slots.size(), -1);
        splat_.assign(nest_.slots.size(), -1);
        size_t buffers = 0;
        for (size_t n = 0; n < nest_.slots.size(); ++n) {
            if (access_[n] == kGather) buffer_[n] = int(buffers++);
            if (access_[n] == kSplat) splat_[n] = splats_++;
        }
        if (splats_ > kMostInputs)
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "a program has too many operands"};
        share_places(nest_);
        for (size_t n = 0; n < nest_.slots.size(); ++n)
            if (nest_.slots[n].kind == Slot::kElement)
                buffer_[n] = int(buffers) + nest_.slots[n].number;
        buffers += size_t(nest_.element_count);
        block_ = nest_.kept.size[inner()];
        int64_t unit = direct_ ? 1 : int64_t(nest_.value_bytes);  // bytes of a value in a buffer
        for (const Slot &slot : nest_.slots)
            if (direct_ && slot.kind == Slot::kTensor) unit = std::max<int64_t>(unit, slot.bytes);
        if (buffers) {
            int64_t fitting = kScratch / (int64_t(buffers) * unit) / 16 * 16;
            block_ = std::min({block_, kBlock, fitting});
            if (tile_) {
                tile_columns_ = kTileColumns;
                // For small elements, a column of a tile consists of whole cache lines.
                const int64_t most = direct_ ? std::max(kTileRows, 128 / unit) : kTileRows;
                tile_rows_ = std::clamp<int64_t>(fitting / kTileColumns, 1, most);
            }
        }
        buffer_bytes_ = unit * (tile_ ? tile_rows_ * tile_columns_ : block_);
        int cost = nest_.stages.empty() ? 1 : -1;
        for (const Stage &stage : nest_.stages) cost += 1 + stage.functor->cost;
        grain_ = std::max<int64_t>(1024, 24576 / (1 + cost / 8));
    }

    // Bytes from the start of a row to the next row, when dimension d is the one that advances.
    void choose_jumps() {
        unbuffered_ = nest_.stages.size() == 1 && !tile_;
        jumps_.resize(nest_.slots.size());
        for (size_t n = 0; n < nest_.slots.size(); ++n) {
            const Slot &slot = nest_.slots[n];
            if (slot.kind == Slot::kElement || access_[n] == kGather) unbuffered_ = false;
            if (access_[n] == kUnused) continue;
            int64_t back = 0;
            for (int d = inner() - 1; d >= 0; --d) {
                const int64_t unit = slot.kind == Slot::kPosition ? 1 : slot.bytes;
                jumps_[n].by[d] = (slot.kept[d] - back) * unit;
                back += (nest_.kept.size[d] - 1) * slot.kept[d];
            }
        }
    }

    int inner() const { return nest_.kept.count - 1; }
    int64_t outer_total() const {
        int64_t product = 1;
        for (int i = 0; i < inner() - int(tile_); ++i) product *= nest_.kept.size[i];
        return product;
    }

    // Moves a dimension to another position.
    void move_dimension(int from, int to) {
        auto rotate = [&](int64_t *values) {
            if (from < to)
                std::rotate(values + from, values + from + 1, values + to + 1);
            else
                std::rotate(values + to, values + from, values + from + 1);
        };
        rotate(nest_.kept.size);
        for (Slot &slot : nest_.slots) rotate(slot.kept);
    }

    // A single stage that runs on rows in place is faster than one that gathers their elements.
    int64_t shortest_row() const {
        bool in_place = nest_.stages.size() == 1;
        for (const Slot &slot : nest_.slots)
            if (slot.kind == Slot::kTensor)
                in_place = in_place && (slot.kept[inner()] == 1 || slot.kept[inner()] == 0);
        return in_place ? std::max<int64_t>(8, int64_t(kWidth<float>)) : 16;
    }

    void choose_inner() {
        Walk &walk = nest_.kept;
        if (walk.count == 0) walk.size[walk.count++] = 1;
        // A short innermost dimension would cause a call for every few elements.
        if (walk.size[inner()] < shortest_row()) {
            int longest = 0;  // the innermost among equals
            for (int i = 1; i < walk.count; ++i)
                if (walk.size[i] >= walk.size[longest]) longest = i;
            if (walk.size[longest] >= 4 * walk.size[inner()]) move_dimension(longest, inner());
        }
        if (walk.size[inner()] == 1)
            for (Slot &slot : nest_.slots) slot.kept[inner()] = 1;
    }

    // Uses a specialised loop for tensors of one storage type; the results may be truth values
    // instead. Operands that are not dense are copied to buffers without conversion.
    void choose_direct() {
        if (nest_.stages.size() != 1) return;
        Stage &stage = nest_.stages[0];
        int given = 0, made = 0;  // input and output dtypes
        for (size_t n = 0; n < nest_.slots.size(); ++n) {
            const Slot &slot = nest_.slots[n];
            if (slot.kind == Slot::kPosition) return;
            if (slot.kind != Slot::kTensor) continue;
            const bool read = contains(stage.inputs, n), written = contains(stage.outputs, n);
            if ((read && given && given != slot.dtype) || (written && made && made != slot.dtype))
                return;
            if (read) given = slot.dtype;
            if (written) made = slot.dtype;
        }
        BlockFunction compute = nullptr;
        if (stage.copies && given && given != made) {
            compute = cast_function(given, made);
        } else if (nest_.type != kDouble && nest_.type != kUint64) {
            if (!given) given = made;
            const int storage = storage_of(given);
            if (storage < 0) return;
            compute = made == given               ? stage.functor->direct[storage]
                      : made == INFINI_DTYPE_BOOL ? stage.functor->truth[storage]
                                                  : nullptr;
        }
        if (!compute) return;
        stage.compute = compute;
        direct_ = true;
    }

    static bool contains(const std::vector<int> &numbers, size_t n) {
        return std::find(numbers.begin(), numbers.end(), int(n)) != numbers.end();
    }

    void choose_access() {
        access_.assign(nest_.slots.size(), kUnused);
        for (size_t n = 0; n < nest_.slots.size(); ++n) {
            const Slot &slot = nest_.slots[n];
            const bool tensor = slot.kind == Slot::kTensor;
            if (!tensor && slot.kind != Slot::kPosition) continue;
            const bool fits = tensor && (direct_ || slot.dtype == dtype_of(nest_.type));
            const int64_t stride = slot.kept[inner()];
            access_[n] = fits && stride == 1 ? kDirect : stride == 0 ? kSplat : kGather;
        }
    }

    // If an operand is contiguous along another dimension, tiles of both are gathered.
    void choose_tile() {
        int best = -1;
        for (size_t n = 0; n < nest_.slots.size(); ++n) {
            if (access_[n] != kGather) continue;
            const Slot &slot = nest_.slots[n];
            const int64_t stride = std::llabs(slot.kept[inner()]);
            if (stride < 2) continue;
            for (int i = 0; i < inner(); ++i) {
                const int64_t other = std::llabs(slot.kept[i]);
                if (other && other < stride && nest_.kept.size[i] >= 16 &&
                    (best < 0 || other < std::llabs(slot.kept[best])))
                    best = i;
            }
        }
        if (best < 0) return;
        tile_ = true;
        if (best != inner() - 1) move_dimension(best, inner() - 1);
    }

    // The state of one thread.
    struct Task {
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
                if (map.access_[n] == kSplat && !map.tile_) splat(n, at[n]);
            }
        }

        // Advances to the next row; returns the dimension that advances. Divisions would be slow.
        int next_dimension() {
            int d = map.inner() - 1;
            for (; d > 0 && where[d] + 1 == nest.kept.size[d]; --d) where[d] = 0;
            ++where[d];
            return d;
        }

        void jump(size_t n, int d) {
            const int64_t by = map.jumps_[n].by[d];
            at[n] += by;
            if (by != 0 && map.access_[n] == kSplat) splat(n, at[n]);
        }

        void next_row() {
            const int d = next_dimension();
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
                const int d = next_dimension();
                for (size_t i = 0; i < stage.inputs.size(); ++i) {
                    const size_t slot = size_t(stage.inputs[i]);
                    if (map.access_[slot] == kDirect)
                        bound.in[i] =
                            static_cast<const char *>(bound.in[i]) + map.jumps_[slot].by[d];
                    else if (map.access_[slot] == kSplat)
                        jump(slot, d);
                }
                for (size_t i = 0; i < stage.outputs.size(); ++i)
                    bound.out[i] = static_cast<char *>(bound.out[i]) +
                                   map.jumps_[size_t(stage.outputs[i])].by[d];
            }
        }

        void splat(size_t n, const char *from) {
            const Slot &slot = nest.slots[n];
            char *to = splats[map.splat_[n]];
            if (map.direct_) {
                const size_t bytes = size_t(slot.bytes);
                for (size_t i = 0; i < kSplatBytes; i += bytes) std::memcpy(to + i, from, bytes);
                return;
            }
            with_type(nest.type, [&](auto one) {
                if (slot.kind == Slot::kTensor && slot.dtype == dtype_of(nest.type))
                    std::memcpy(&one, from, sizeof one);
                else
                    gather(nest.type, &one, slot, from, 1, 0);
                repeat(to, one);
            });
        }

        // Moves elements of a tensor to a buffer and back, with or without conversion to values.
        void take(char *values, const Slot &slot, const char *from, int64_t n, int64_t stride) {
            if (!map.direct_) return gather(nest.type, values, slot, from, n, stride);
            with_cell(slot.bytes, [&](auto cell) {
                using E = decltype(cell);
                copy_strided(reinterpret_cast<E *>(values), 1, reinterpret_cast<const E *>(from),
                             stride, n);
            });
        }
        void give(const Slot &slot, char *to, const char *values, int64_t n, int64_t stride) {
            if (!map.direct_) return scatter(nest.type, slot, to, values, n, stride);
            with_cell(slot.bytes, [&](auto cell) {
                using E = decltype(cell);
                copy_strided(reinterpret_cast<E *>(to), stride, reinterpret_cast<const E *>(values),
                             1, n);
            });
        }
        int64_t unit(const Slot &slot) const {
            return map.direct_ ? slot.bytes : int64_t(nest.value_bytes);
        }

        char *buffer(size_t n) { return scratch + map.buffer_[n] * map.buffer_bytes_; }
        bool is_read(size_t n) const { return map.reads_[n]; }

        void span(int64_t begin, int64_t end) {
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
                        if (is_read(n)) take(buffer(n), slot, from, count, stride);
                        use[n] = buffer(n);
                    }
                }
                compute(count);
                for (size_t n : map.scattered_) {
                    const Slot &slot = nest.slots[n];
                    const int64_t stride = slot.kept[map.inner()];
                    give(slot, at[n] + i * stride * slot.bytes, buffer(n), count, stride);
                }
            }
        }

        // Rows of the second innermost dimension starting at `row`, columns of the innermost
        // starting at `column`.
        void tile(int64_t row, int64_t rows, int64_t column, int64_t columns) {
            const int in = map.inner(), down = in - 1;
            for (size_t n = 0; n < nest.slots.size(); ++n)
                if (map.access_[n] == kGather && is_read(n))
                    move_tile(n, row, rows, column, columns, true);
            for (int64_t r = 0; r < rows; ++r) {
                for (size_t n = 0; n < nest.slots.size(); ++n) {
                    if (map.access_[n] == kUnused) continue;
                    const Slot &slot = nest.slots[n];
                    const int64_t bytes = slot.kind == Slot::kPosition ? 1 : slot.bytes;
                    char *from =
                        at[n] + ((row + r) * slot.kept[down] + column * slot.kept[in]) * bytes;
                    if (map.access_[n] == kSplat) splat(n, from);
                    use[n] = map.access_[n] == kGather
                                 ? buffer(n) + r * map.tile_columns_ * unit(slot)
                                 : from;
                }
                compute(columns);
            }
            for (size_t n : map.scattered_) move_tile(n, row, rows, column, columns, false);
        }

        void move_tile(size_t n, int64_t row, int64_t rows, int64_t column, int64_t columns,
                       bool in) {
            const Slot &slot = nest.slots[n];
            const int64_t across = slot.kept[map.inner()], down = slot.kept[map.inner() - 1];
            char *memory = at[n];
            if (std::llabs(across) <= std::llabs(down)) {  // memory order matches the tile's rows
                for (int64_t r = 0; r < rows; ++r) {
                    const int64_t bytes = slot.kind == Slot::kPosition ? 1 : slot.bytes;
                    char *here = memory + ((row + r) * down + column * across) * bytes;
                    char *values = buffer(n) + r * map.tile_columns_ * unit(slot);
                    if (in)
                        take(values, slot, here, columns, across);
                    else
                        give(slot, here, values, columns, across);
                }
                return;
            }
            if (map.direct_) {
                with_cell(slot.bytes, [&](auto cell) {
                    using E = decltype(cell);
                    E *there = reinterpret_cast<E *>(memory) + row * down + column * across;
                    E *values = reinterpret_cast<E *>(buffer(n));
                    if (in)
                        transpose_cells(values, kTileColumns, 1, there, down, across, rows,
                                        columns);
                    else
                        transpose_cells(there, down, across, values, kTileColumns, 1, rows,
                                        columns);
                });
                return;
            }
            with_type(nest.type, [&](auto zero) {
                using C = decltype(zero);
                C *values = reinterpret_cast<C *>(buffer(n));
                if (slot.kind == Slot::kPosition) {
                    const auto first = reinterpret_cast<intptr_t>(memory);
                    for (int64_t r = 0; r < rows; ++r)
                        for (int64_t c = 0; c < columns; ++c)
                            values[r * kTileColumns + c] =
                                C(first + (row + r) * down + (column + c) * across);
                    return;
                }
                visit_dtype(slot.dtype, [&]<class T>(Type<T>) {
                    T *from = reinterpret_cast<T *>(memory) + row * down + column * across;
                    if (in)
                        read_tile(values, from, down, across, rows, columns);
                    else
                        write_tile(from, values, down, across, rows, columns);
                });
            });
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

    struct Jumps {
        int64_t by[kDims] = {};
    };

    LoopNest nest_;
    bool direct_ = false, tile_ = false, unbuffered_ = false;
    std::vector<Jumps> jumps_;  // by slot
    std::vector<Access> access_;
    std::vector<int> buffer_, splat_;
    std::vector<char> reads_;
    std::vector<size_t> scattered_;
    int splats_ = 0;
    int64_t block_ = 0, buffer_bytes_ = 0, tile_rows_ = 0, tile_columns_ = 0, grain_ = 0;
};

}  // namespace

std::unique_ptr<Runner> make_map(LoopNest nest) { return std::make_unique<Map>(std::move(nest)); }

}  // namespace infini::cpu::program
