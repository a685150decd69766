// Softmax attention over many sequences, split into blocks of rows and, if there are fewer blocks
// than threads, into ranges of keys (split-KV).
//
// A row is a query of one head. All query heads that share a key head belong to one block, so that
// keys and values are read once for all of them.
#pragma once

#include <atomic>

#include "../threads.h"
#include "block.h"

namespace infini::cpu {

// Parameters common to all sequences. Strides are in elements.
struct Heads {
    int dtype = 0;
    int64_t heads = 0, group = 0;  // key heads, and query heads per key head
    int64_t depth = 0, value_depth = 0;
    int64_t q_token = 0, q_head = 0, q_inner = 1;
    int64_t out_token = 0, out_head = 0, out_inner = 1;
    int64_t k_head = 0, v_head = 0;
    float scale = 0;
    bool causal = false;
    const float *slopes = nullptr;  // by query head; null: none
    int64_t slope_stride = 1;
    int64_t window = 0;      // maximum keys that a query sees, including its own; 0: no limit
    float softcap = 0;       // of scores; 0: none
    bool invariant = false;  // a row's bits depend neither on the other rows nor on the threads
};

struct Sequence {
    const char *q;
    char *out;
    int64_t queries, keys;
    KeyRows rows;  // of key head 0
};

// How the work is divided; computed once per plan.
struct Division {
    int64_t sequences, heads;
    int64_t block_rows;   // maximum rows in a block
    int64_t most_blocks;  // of all sequences, per key head
    int64_t workers, splits;
    int64_t runners;  // workers that are used, limited by the amount of work
    int64_t depth, value_depth;

    // `rows`: of all sequences; `longest`: maximum rows in a sequence; `keys`: maximum keys in a
    // sequence.
    Division(const Heads &heads, int64_t sequences, int64_t rows, int64_t longest, int64_t keys);
    size_t workspace() const;
};

// One block of rows of one sequence, and one range of its keys.
struct Block {
    int64_t head, first, count;  // key head, rows
    int64_t split, splits;
    float *partial;  // destination of a key range's partial results; null: none
};

// The address of a row's query.
template <class T>
const T *query_of(const Heads &h, const Sequence &sequence, int64_t head, int64_t row) {
    return reinterpret_cast<const T *>(sequence.q) + row / h.group * h.q_token +
           (head * h.group + row % h.group) * h.q_head;
}

// Writes a result divided by the sum of the probabilities, or zeros if no key is visible.
template <class T>
void write_row(const Heads &h, const Sequence &sequence, int64_t head, int64_t row, float *values,
               float sum) {
    float factor = sum == 0 ? 0 : 1 / sum;
    for (int64_t e = 0; e < h.value_depth; ++e) values[e] *= factor;
    T *out = reinterpret_cast<T *>(sequence.out) + row / h.group * h.out_token +
             (head * h.group + row % h.group) * h.out_head;
    store_strided(out, values, size_t(h.value_depth), h.out_inner);
}

// Prepares a block and calls run(scratch, begin, end, load, emit) for its range of keys.
template <class T, class Run>
void attend_rows(const Heads &h, const Sequence &sequence, const Block &block, char *memory,
                 const Run &run) {
    BlockScratch scratch;
    scratch.carve(memory, block.count, h.depth, h.value_depth);
    BlockRows &rows = scratch.rows;
    rows.count = block.count, rows.sloped = h.slopes != nullptr;
    rows.windowed = h.window > 0, rows.cap = h.softcap * kLog2E;
    for (int64_t r = 0; r < block.count; ++r) {
        int64_t query = (block.first + r) / h.group;
        int64_t head = block.head * h.group + (block.first + r) % h.group;
        rows.place[r] = sequence.keys - sequence.queries + query;
        rows.limit[r] =
            h.causal ? std::clamp<int64_t>(rows.place[r] + 1, 0, sequence.keys) : sequence.keys;
        if (h.window > 0)
            rows.from[r] = std::clamp<int64_t>(rows.place[r] + 1 - h.window, 0, rows.limit[r]);
        if (h.slopes) rows.slope[r] = h.slopes[head * h.slope_stride] * kLog2E;
    }
    int64_t seen = rows.limit[block.count - 1];  // the last row sees the most keys
    int64_t first = rows.windowed ? rows.from[0] : 0, base = first / kThinTile * kThinTile;
    int64_t share = round_up((seen - base + block.splits - 1) / block.splits, kThinTile);
    int64_t begin = std::min(seen, base + block.split * share), end = std::min(seen, begin + share);
    begin = std::max(begin, std::min(first, end));

    const float scale = h.scale * kLog2E;
    auto load = [&](int64_t r, float *row) {
        load_floats(row, query_of<T>(h, sequence, block.head, block.first + r), h.depth, h.q_inner);
        for (int64_t d = 0; d < h.depth; ++d) row[d] *= scale;
    };
    auto emit = [&](int64_t r, float *row) {
        if (!block.partial)
            return write_row<T>(h, sequence, block.head, block.first + r, row, rows.sum[r]);
        float *to = block.partial + r * (h.value_depth + 2);
        std::memcpy(to, row, size_t(h.value_depth) * sizeof(float));
        to[h.value_depth] = rows.greatest[r], to[h.value_depth + 1] = rows.sum[r];
    };
    run(scratch, begin, end, load, emit);
}

// Attention of one block.
void attend_block(const Heads &heads, const Sequence &sequence, const Block &block, char *scratch);
// Combines the partial results of a block, in order, and writes them.
void join_block(const Heads &heads, const Sequence &sequence, const Block &block,
                int64_t partial_floats, float *partials);

// Runs all sequences: find(s) returns a Sequence, attend(...) is attend_block or similar.
template <class Find, class Attend>
void attend_all(const Heads &heads, const Division &d, char *workspace, const Find &find,
                const Attend &attend) {
    int64_t *first_block = reinterpret_cast<int64_t *>(workspace);  // of each sequence
    first_block[0] = 0;
    for (int64_t s = 0; s < d.sequences; ++s) {
        int64_t rows = find(s).queries * heads.group;
        first_block[s + 1] = first_block[s] + (rows + d.block_rows - 1) / d.block_rows;
    }
    int64_t blocks = first_block[d.sequences];
    int64_t units = blocks * d.heads, tasks = units * d.splits;
    char *at = workspace + round_up((d.sequences + 1) * int64_t(sizeof(int64_t)), 64);
    int32_t *left = reinterpret_cast<int32_t *>(at);  // remaining splits of each unit
    if (d.splits > 1) std::fill_n(left, units, int32_t(d.splits));
    at += d.splits > 1 ? round_up(d.most_blocks * d.heads * int64_t(sizeof(int32_t)), 64) : 0;
    float *partials = reinterpret_cast<float *>(at);
    int64_t partial_floats = d.block_rows * (d.value_depth + 2);
    if (d.splits > 1)
        at += round_up(d.most_blocks * d.heads * d.splits * partial_floats * int64_t(sizeof(float)),
                       64);
    int64_t scratch_bytes = int64_t(BlockScratch::bytes(d.block_rows, d.depth, d.value_depth));

    // Threads take tasks dynamically, the last blocks first because they see the most keys.
    std::atomic<int64_t> next{0};
    parallel_for(size_t(std::min(d.runners, tasks)), 1, [&](size_t begin, size_t end) {
        char *scratch = at + int64_t(begin) * scratch_bytes;
        for (size_t worker = begin; worker < end; ++worker)
            for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
                Block b;
                b.split = task % d.splits, b.splits = d.splits;
                int64_t unit = units - 1 - task / d.splits, block = unit / d.heads;
                b.head = unit % d.heads;
                int64_t s = std::upper_bound(first_block, first_block + d.sequences, block) -
                            first_block - 1;
                Sequence sequence = find(s);
                b.first = (block - first_block[s]) * d.block_rows;
                b.count = std::min(d.block_rows, sequence.queries * heads.group - b.first);
                float *mine = partials + unit * d.splits * partial_floats;
                b.partial = d.splits > 1 ? mine + b.split * partial_floats : nullptr;
                attend(heads, sequence, b, scratch);
                if (d.splits > 1 && std::atomic_ref(left[unit]).fetch_sub(1) == 1)
                    join_block(heads, sequence, b, partial_floats, mine);
            }
    });
}

}  // namespace infini::cpu
