// One block of query rows that share their keys: iterates over the keys tile by tile with an online
// softmax. At most one tile of scores exists at any time.
#pragma once

#include "rows.h"
#include "thin.h"
#include "wide.h"

namespace infini::cpu {

// The keys and values of one head of one sequence: strided rows, or pages of a cache located
// through a page table.
struct KeyRows {
    const char *k = nullptr, *v = nullptr;
    int64_t k_row = 0, v_row = 0;  // strides, in elements
    int64_t k_inner = 1, v_inner = 1;
    const void *table = nullptr;  // null: not paged
    int table_dtype = 0;
    int64_t table_stride = 0;
    int64_t pages = 0, page_size = 0;  // of the cache
    int64_t k_page = 0, v_page = 0;

    // Consecutive rows with the strides above. Null k: the cache has no such page; its keys are
    // skipped, and nothing is read.
    struct Run {
        const char *k, *v;
        int64_t count;
    };

    // The run that starts at key t and ends at or before `end`. `size`: bytes per element.
    Run run(int64_t t, int64_t end, int64_t size) const {
        if (!table) return {k + t * k_row * size, v + t * v_row * size, end - t};
        int64_t row = t % page_size, count = std::min(page_size - row, end - t);
        int64_t page = load_as<int64_t>(table_dtype, table, t / page_size * table_stride);
        if (page < 0 || page >= pages) return {nullptr, nullptr, count};
        return {k + (page * k_page + row * k_row) * size, v + (page * v_page + row * v_row) * size,
                count};
    }
};

inline constexpr int64_t kTile = 64;  // keys
inline constexpr int64_t kThinTile = 128;
// Up to this many rows, vectors hold consecutive elements along the depth.
inline constexpr int64_t kThinRows = kWidth<float> > 8 ? kWidth<float> / 2 : 4;
// Rows in a block in batch-invariant mode, where thin blocks serve any number of rows; limited by
// the scratch memory for scores.
inline constexpr int64_t kInvariantRows = 24;

inline constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// The rows of a block and their running values. Arrays are padded to whole panels.
struct BlockRows {
    int64_t count = 0;  // rows
    int64_t depth = 0, value_depth = 0;
    int64_t *limit;  // the row sees the keys before this; non-decreasing over rows
    int64_t *from;   // and none before this, also non-decreasing; only if `windowed`
    int64_t *place;  // of its query among the keys, for slopes
    float *slope;    // times log2(e); only if `sloped`
    bool sloped = false, windowed = false;
    float cap = 0;  // soft cap of scores, times log2(e); 0: none
    float *greatest, *sum;
};

// A thread's scratch memory for one block.
struct BlockScratch {
    BlockRows rows;
    float *q, *out, *scores, *k, *v, *row, *shrink, *distance;
    int32_t *visible, *before;
    uint8_t *hidden;

    static size_t bytes(int64_t rows, int64_t depth, int64_t value_depth) {
        return BlockScratch().carve(nullptr, rows, depth, value_depth);
    }

    size_t carve(char *memory, int64_t rows, int64_t depth, int64_t value_depth) {
        size_t at = 0;
        auto take = [&]<class T>(T *&pointer, int64_t count) {
            pointer = reinterpret_cast<T *>(memory + at);
            at += (size_t(count) * sizeof(T) + 63) / 64 * 64;
        };
        int64_t padded = round_up(rows, std::max<int64_t>(kPanel, 32)),
                wide = int64_t(kWidth<float>);
        take(this->rows.limit, padded);
        take(this->rows.from, padded);
        take(this->rows.place, padded);
        take(this->rows.slope, padded);
        take(this->rows.greatest, padded);
        take(this->rows.sum, padded);
        take(q, padded * round_up(depth, wide));
        take(out, padded * round_up(value_depth, wide));
        take(scores, std::max({(kTile + int64_t(kStrip)) * kPanel, kThinTile * kThinRows,
                               kThinTile * kInvariantRows, 48 * kTile}));
        take(k, kTile * depth);
        take(v, kTile * value_depth);
        take(row, round_up(std::max(depth, value_depth), wide));
        take(shrink, kPanel);
        take(distance, kPanel);
        take(visible, kPanel);
        take(before, kPanel);
        take(hidden, kThinTile);
        this->rows.depth = depth, this->rows.value_depth = value_depth;
        return at;
    }
};

// A tile of keys and values as floats.
struct KeyTile {
    const float *k, *v;
    int64_t k_row, v_row;
    const uint8_t *hidden;  // by key; null: none hidden
};

// Reads tiles of rows of T; rows are converted unless they are contiguous floats.
template <class T>
struct TileReader {
    const KeyRows &rows;
    int64_t depth, value_depth;

    KeyTile operator()(BlockScratch &scratch, int64_t t, int64_t count) const {
        KeyTile tile{scratch.k, scratch.v, depth, value_depth, nullptr};
        if (std::is_same_v<T, float> && !rows.table && rows.k_inner == 1 && rows.v_inner == 1) {
            KeyRows::Run run = rows.run(t, t + count, sizeof(T));
            return {reinterpret_cast<const float *>(run.k), reinterpret_cast<const float *>(run.v),
                    rows.k_row, rows.v_row, nullptr};
        }
        for (int64_t done = 0; done < count;) {
            KeyRows::Run run = rows.run(t + done, t + count, sizeof(T));
            if (!run.k && !tile.hidden) {
                std::memset(scratch.hidden, 0, size_t(count));
                tile.hidden = scratch.hidden;
            }
            for (int64_t i = 0; i < run.count; ++i, ++done) {
                float *k = scratch.k + done * depth, *v = scratch.v + done * value_depth;
                if (!run.k) {
                    scratch.hidden[done] = 1;
                    std::fill_n(k, depth, 0.0f);
                    std::fill_n(v, value_depth, 0.0f);
                    continue;
                }
                load_floats(k, reinterpret_cast<const T *>(run.k) + i * rows.k_row, depth,
                            rows.k_inner);
                load_floats(v, reinterpret_cast<const T *>(run.v) + i * rows.v_row, value_depth,
                            rows.v_inner);
            }
        }
        return tile;
    }
};

// ---- Many rows ----------------------------------------------------------------------------------

// Calls f for each panel of a block: f.template operator()<V>(first row).
template <class F>
void by_panels(int64_t rows, F &&f) {
    for (int64_t r = 0; r < rows; r += kPanel)
        if (rows - r > int64_t(kWidth<float>) || kPanelVectors == 1)
            f.template operator()<kPanelVectors>(r);
        else
            f.template operator()<1>(r);
}

// Attention of all rows over the keys begin .. end, in tiles that end at multiples of kTile, so
// that a row's sums do not depend on where a block starts. `load_query(r, row)` loads a scaled
// query; `emit(r, row)` receives a result that is not yet divided by its sum.
template <class Read, class Load, class Emit>
void wide_block(BlockScratch &scratch, int64_t begin, int64_t end, const Read &read,
                const Load &load_query, const Emit &emit) {
    BlockRows &rows = scratch.rows;
    int64_t depth = rows.depth, value_depth = rows.value_depth;
    by_panels(rows.count, [&]<size_t V>(int64_t first) {
        constexpr int64_t width = V * kWidth<float>;
        float *q = scratch.q + first * depth;
        for (int64_t lane = 0; lane < width; ++lane) {
            int64_t r = first + lane;
            rows.greatest[r] = kNone, rows.sum[r] = 0;
            if (r >= rows.count) {  // padding: sees all keys, and its results are never read
                rows.limit[r] = end, rows.from[r] = 0, rows.place[r] = 0, rows.slope[r] = 0;
                for (int64_t d = 0; d < depth; ++d) q[d * width + lane] = 0;
                continue;
            }
            load_query(r, scratch.row);
            for (int64_t d = 0; d < depth; ++d) q[d * width + lane] = scratch.row[d];
        }
        std::fill_n(scratch.out + first * value_depth, width * value_depth, 0.0f);
    });

    for (int64_t t = begin, count; t < end; t += count) {
        count = std::min(kTile - t % kTile, end - t);
        KeyTile tile = read(scratch, t, count);
        by_panels(rows.count, [&]<size_t V>(int64_t first) {
            constexpr int64_t width = V * kWidth<float>;
            // Later rows see at least as many keys as earlier ones.
            int64_t last = std::min(first + width, rows.count) - 1;
            int64_t most = std::min(rows.limit[last] - t, count);
            if (most <= 0 || (rows.windowed && rows.from[first] - t >= most)) return;
            bool all = rows.limit[first] - t >= most && !(rows.windowed && rows.from[last] > t);
            if (!all || rows.sloped || tile.hidden)
                for (int64_t lane = 0; lane < width; ++lane) {
                    int64_t seen = std::clamp<int64_t>(rows.limit[first + lane] - t, 0, count);
                    scratch.visible[lane] = int32_t(seen);
                    scratch.distance[lane] = float(rows.place[first + lane] - t);
                    if (rows.windowed)
                        scratch.before[lane] =
                            int32_t(std::clamp<int64_t>(rows.from[first + lane] - t, 0, count));
                }
            float *scores = scratch.scores;
            score_tile<V>(scores, tile.k, tile.k_row, most, depth, scratch.q + first * depth);
            if (rows.cap > 0) cap_scores(scores, most * width, rows.cap);
            Sight sight{scratch.visible,
                        rows.windowed ? scratch.before : nullptr,
                        rows.sloped ? rows.slope + first : nullptr,
                        scratch.distance,
                        tile.hidden,
                        all};
            weigh_tile<V>(scores, most, sight, rows.greatest + first, rows.sum + first,
                          scratch.shrink);
            value_tile<V>(scratch.out + first * value_depth, tile.v, tile.v_row, most, value_depth,
                          scores, scratch.shrink);
        });
    }

    by_panels(rows.count, [&]<size_t V>(int64_t first) {
        constexpr int64_t width = V * kWidth<float>;
        const float *out = scratch.out + first * value_depth;
        for (int64_t lane = 0; lane < width && first + lane < rows.count; ++lane) {
            for (int64_t e = 0; e < value_depth; ++e) scratch.row[e] = out[e * width + lane];
            emit(first + lane, scratch.row);
        }
    });
}

// ---- Few rows -----------------------------------------------------------------------------------

// The same incrementally, for up to kThinRows rows: begin, then any number of key ranges, then end.
template <class Load>
void thin_begin(BlockScratch &scratch, const Load &load_query) {
    BlockRows &rows = scratch.rows;
    int64_t q_row = round_up(rows.depth, kWidth<float>);
    for (int64_t r = 0; r < rows.count; ++r) {
        float *q = scratch.q + r * q_row;
        std::fill_n(q + rows.depth, q_row - rows.depth, 0.0f);
        load_query(r, q);
        std::fill_n(scratch.out + r * rows.value_depth, rows.value_depth, 0.0f);
        rows.greatest[r] = kNone, rows.sum[r] = 0;
    }
}

// Scores of keys t .. t + count for all rows, s[row][key]. Returns whether keys are missing.
template <class T, bool P>
bool thin_tile_scores(const BlockScratch &scratch, const KeyRows &keys, int64_t t, int64_t count,
                      float *s, int64_t s_row) {
    const BlockRows &rows = scratch.rows;
    int64_t q_row = round_up(rows.depth, kWidth<float>);
    bool missing = false;
    for (int64_t done = 0; done < count;) {
        KeyRows::Run run = keys.run(t + done, t + count, sizeof(T));
        if (run.k) {
            // The values of a tile are read after its keys.
            const bool last = done + run.count == count;
            const KeyRows::Run then =
                keys.run(last ? t : t + done + run.count, t + count, sizeof(T));
            const NextRows<T, P> next{reinterpret_cast<const T *>(!then.k ? run.k
                                                                  : last  ? then.v
                                                                          : then.k),
                                      last ? keys.v_row : keys.k_row};
            by_rows(rows.count, [&]<size_t R>(int64_t r) {
                thin_scores<T, R, P>(s + r * s_row + done, s_row,
                                     reinterpret_cast<const T *>(run.k), keys.k_row, run.count,
                                     rows.depth, scratch.q + r * q_row, q_row, next);
            });
        } else {
            missing = true;
            for (int64_t r = 0; r < rows.count; ++r)
                std::fill_n(s + r * s_row + done, run.count, kNone);
        }
        done += run.count;
    }
    return missing;
}

// Tiles end at multiples of kThinTile and a score's lane is determined by its key's position, so
// that a row's sums do not depend on which keys the other rows see.
template <class T, bool P>
void thin_tiles(BlockScratch &scratch, const KeyRows &keys, int64_t begin, int64_t end) {
    constexpr int64_t wide = int64_t(kWidth<float>);
    BlockRows &rows = scratch.rows;
    for (int64_t t = begin, count; t < end; t += count) {
        count = std::min(kThinTile - t % kThinTile, end - t);
        const int64_t skip = t % wide, base = t - skip, lanes = round_up(skip + count, wide);
        float *s = scratch.scores;
        thin_tile_scores<T, P>(scratch, keys, t, count, s + skip, kThinTile);
        for (int64_t r = 0; r < rows.count; ++r) {
            float *row = s + r * kThinTile;
            int64_t from = rows.windowed ? std::max(rows.from[r], t) : t;
            int64_t seen = std::clamp<int64_t>(rows.limit[r] - base, skip, skip + count);
            std::fill(row, row + std::min(from - base, lanes), kNone);
            std::fill(row + seen, row + lanes, kNone);
            if (rows.cap > 0) cap_scores(row, lanes, rows.cap);
            if (rows.sloped)
                for (int64_t i = skip; i < seen; ++i)
                    row[i] = fma(rows.slope[r], float(base + i - rows.place[r]), row[i]);
            float shrink = weigh_row(row, lanes, rows.greatest[r], rows.sum[r]);
            if (shrink != 1.0f) {
                float *out = scratch.out + r * rows.value_depth;
                for (int64_t e = 0; e < rows.value_depth; ++e) out[e] *= shrink;
            }
        }
        for (int64_t done = 0; done < count;) {
            KeyRows::Run run = keys.run(t + done, t + count, sizeof(T));
            if (run.k) {
                // The keys of the next tile are read after the values of this one.
                const bool last = done + run.count == count, ends = t + count == end;
                const KeyRows::Run then =
                    ends && last ? run : keys.run(t + done + run.count, end, sizeof(T));
                const NextRows<T, P> next{reinterpret_cast<const T *>(!then.k ? run.v
                                                                      : last  ? then.k
                                                                              : then.v),
                                          last ? keys.k_row : keys.v_row};
                by_rows(rows.count, [&]<size_t R>(int64_t r) {
                    thin_values<T, R, P>(scratch.out + r * rows.value_depth, rows.value_depth,
                                         reinterpret_cast<const T *>(run.v), keys.v_row, run.count,
                                         rows.value_depth, s + r * kThinTile + skip + done,
                                         kThinTile, next);
                });
            }
            done += run.count;
        }
    }
}

template <class T>
void thin_range(BlockScratch &scratch, const KeyRows &keys, int64_t begin, int64_t end) {
    const int64_t depths = scratch.rows.depth + scratch.rows.value_depth;
    if ((end - begin) * depths * int64_t(sizeof(T)) >= kPrefetchedBytes)
        thin_tiles<T, true>(scratch, keys, begin, end);
    else
        thin_tiles<T, false>(scratch, keys, begin, end);
}

template <class Emit>
void thin_end(BlockScratch &scratch, const Emit &emit) {
    for (int64_t r = 0; r < scratch.rows.count; ++r)
        emit(r, scratch.out + r * scratch.rows.value_depth);
}

}  // namespace infini::cpu
