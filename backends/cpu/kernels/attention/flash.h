// Softmax attention of many sequences, split into blocks of rows and, where these are fewer than
// threads, into ranges of keys.
//
// A row is a query of one head. All query heads that share a key head stand in one block, so that
// keys and values are read once for them.
#pragma once

#include <atomic>

#include "../threads.h"
#include "block.h"

namespace infini::cpu {

// What is the same for all sequences. Strides are in elements.
struct Heads {
    int dtype = 0;
    int64_t heads = 0, group = 0;  // key heads, and query heads for each of them
    int64_t depth = 0, value_depth = 0;
    int64_t q_token = 0, q_head = 0, q_inner = 1;
    int64_t out_token = 0, out_head = 0, out_inner = 1;
    int64_t k_head = 0, v_head = 0;
    float scale = 0;
    bool causal = false;
    const float *slopes = nullptr;  // by query head; null: none
    int64_t slope_stride = 1;
};

struct Sequence {
    const char *q;
    char *out;
    int64_t queries, keys;
    KeyRows rows;  // of key head 0
};

// How the work is divided; made once for a plan.
struct Division {
    int64_t sequences, heads;
    int64_t block_rows;   // rows of a block at most
    int64_t most_blocks;  // of all sequences together, for each key head
    int64_t workers, splits;
    int64_t depth, value_depth;

    // `rows`: of all sequences together; `longest`: rows of one sequence at most; `keys`: of a
    // sequence at most.
    Division(const Heads &heads, int64_t sequences, int64_t rows, int64_t longest, int64_t keys);
    size_t workspace() const;
};

// Attention of one block to a range of keys. `partial`: where to leave unfinished results, else null.
void attend_block(const Heads &heads, const Sequence &sequence, int64_t head, int64_t first,
                  int64_t count, int64_t split, int64_t splits, char *scratch, float *partial);
// Puts the partial results of a block together, in their order, and writes them.
void join_block(const Heads &heads, const Sequence &sequence, int64_t head, int64_t first,
                int64_t count, int64_t splits, int64_t partial_floats, float *partials);

// Runs all sequences: find(s) gives a Sequence.
template <class Find>
void attend_all(const Heads &heads, const Division &d, char *workspace, const Find &find) {
    int64_t *first_block = reinterpret_cast<int64_t *>(workspace);  // of each sequence
    first_block[0] = 0;
    for (int64_t s = 0; s < d.sequences; ++s) {
        int64_t rows = find(s).queries * heads.group;
        first_block[s + 1] = first_block[s] + (rows + d.block_rows - 1) / d.block_rows;
    }
    int64_t blocks = first_block[d.sequences];
    int64_t units = blocks * d.heads, tasks = units * d.splits;
    char *at = workspace + round_up((d.sequences + 1) * int64_t(sizeof(int64_t)), 64);
    int32_t *left = reinterpret_cast<int32_t *>(at);  // splits of a unit that are not done
    if (d.splits > 1) std::fill_n(left, units, int32_t(d.splits));
    at += d.splits > 1 ? round_up(d.most_blocks * d.heads * int64_t(sizeof(int32_t)), 64) : 0;
    float *partials = reinterpret_cast<float *>(at);
    int64_t partial_floats = d.block_rows * (d.value_depth + 2);
    if (d.splits > 1)
        at += round_up(d.most_blocks * d.heads * d.splits * partial_floats * int64_t(sizeof(float)),
                       64);
    int64_t scratch_bytes = int64_t(BlockScratch::bytes(d.block_rows, d.depth, d.value_depth));

    // Threads take tasks as they become free. The last blocks see most keys and come first.
    std::atomic<int64_t> next{0};
    parallel_for(size_t(std::min(d.workers, tasks)), 1, [&](size_t begin, size_t end) {
        char *scratch = at + int64_t(begin) * scratch_bytes;
        for (size_t worker = begin; worker < end; ++worker)
            for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
                int64_t split = task % d.splits, unit = units - 1 - task / d.splits;
                int64_t block = unit / d.heads, head = unit % d.heads;
                int64_t s = std::upper_bound(first_block, first_block + d.sequences, block) -
                            first_block - 1;
                Sequence sequence = find(s);
                int64_t first = (block - first_block[s]) * d.block_rows;
                int64_t count = std::min(d.block_rows, sequence.queries * heads.group - first);
                float *mine = partials + unit * d.splits * partial_floats;
                attend_block(heads, sequence, head, first, count, split, d.splits, scratch,
                             d.splits > 1 ? mine + split * partial_floats : nullptr);
                if (d.splits > 1 && std::atomic_ref(left[unit]).fetch_sub(1) == 1)
                    join_block(heads, sequence, head, first, count, d.splits, partial_floats, mine);
            }
    });
}

}  // namespace infini::cpu
