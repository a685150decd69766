#include "flash.h"

#include <cmath>

#include "amx_block.h"
#include "floats.h"
#include "worth_threads.h"

namespace infini::cpu {
namespace {

// Rows in a block: as many as fit in the cache with their results.
int64_t rows_for(int64_t depth) { return depth > 256 ? 32 : depth > 128 ? 64 : 128; }

constexpr double kAlone = 200e3;                // multiplications below which one thread is faster
constexpr int64_t kLeastSplit = 4 * kThinTile;  // keys

template <class T>
void attend(const Heads &h, const Sequence &sequence, const Block &block, char *memory) {
    KeyRows keys = sequence.rows;
    keys.k += block.head * h.k_head * int64_t(sizeof(T));
    keys.v += block.head * h.v_head * int64_t(sizeof(T));
    attend_rows<T>(
        h, sequence, block, memory,
        [&](BlockScratch &scratch, int64_t begin, int64_t end, auto &load, auto &emit) {
            bool rows = keys.k_inner == 1 && keys.v_inner == 1;
            if (rows && (h.invariant || block.count <= kThinRows)) {
                thin_begin(scratch, load);
                thin_range<T>(scratch, keys, begin, end);
                thin_end(scratch, emit);
                return;
            }
#if defined(INFINI_AMX)
            if constexpr (std::is_same_v<T, bf16>)
                if (rows && h.depth % 32 == 0 && h.value_depth % 32 == 0 && amx_allowed()) {
                    auto copy = [&](int64_t r, bf16 *to) {
                        const bf16 *q = query_of<bf16>(h, sequence, block.head, block.first + r);
                        for (int64_t d = 0; d < h.depth; ++d) to[d] = q[d * h.q_inner];
                    };
                    return amx_block(scratch, keys, begin, end, h.scale * kLog2E, copy, emit);
                }
#endif
            TileReader<T> read{keys, h.depth, h.value_depth};
            wide_block(scratch, begin, end, read, load, emit);
        });
}

// Calls f(Type<T>{}) with the type of a dtype.
}  // namespace

void attend_block(const Heads &heads, const Sequence &sequence, const Block &block, char *scratch) {
    visit_single(heads.dtype,
                 [&]<class T>(Type<T>) { attend<T>(heads, sequence, block, scratch); });
}

void join_block(const Heads &heads, const Sequence &sequence, const Block &block,
                int64_t partial_floats, float *partials) {
    int64_t depth = heads.value_depth;
    for (int64_t r = 0; r < block.count; ++r) {
        float *row = partials + r * (depth + 2);  // of the first range; the others are added to it
        float greatest = kNone, sum = 0;
        for (int64_t i = 0; i < block.splits; ++i)
            greatest = larger(row[i * partial_floats + depth], greatest);
        float base = reference(greatest);
        for (int64_t i = 0; i < block.splits; ++i) {
            const float *part = row + i * partial_floats;
            float weight = exp2_below(part[depth] - base);
            sum += part[depth + 1] * weight;
            for (int64_t e = 0; e < depth; ++e)
                row[e] = i == 0 ? part[e] * weight : fma(part[e], weight, row[e]);
        }
        visit_single(heads.dtype, [&]<class T>(Type<T>) {
            write_row<T>(heads, sequence, block.head, block.first + r, row, sum);
        });
    }
}

Division::Division(const Heads &h, int64_t sequences, int64_t rows, int64_t longest, int64_t keys)
    : sequences(sequences), heads(h.heads), depth(h.depth), value_depth(h.value_depth) {
    block_rows = std::clamp<int64_t>(longest, 1, rows_for(std::max(h.depth, h.value_depth)));
    most_blocks = rows / block_rows + sequences;
    double work = double(rows) * double(h.heads) * double(keys) * double(h.depth + h.value_depth);
    workers = work < kAlone ? 1 : int64_t(thread_count());
    // The split counts all workers, so that results do not depend on measured thread costs.
    runners = workers == 1 ? 1 : std::min(workers, int64_t(worth_threads(2 * work / kAlone)));
    if (h.invariant) {
        // Keys are never split; blocks of rows are, down to one row, until all threads are busy.
        block_rows = std::min(block_rows, kInvariantRows);
        while (block_rows > 1 && (rows + block_rows - 1) / block_rows * h.heads < workers)
            block_rows = (block_rows + 1) / 2;
        most_blocks = rows / block_rows + sequences;
        splits = 1;
        return;
    }
    // Keys are split only if there are too few blocks to keep all threads busy.
    int64_t units = std::max<int64_t>(1, (rows + block_rows - 1) / block_rows * h.heads);
    splits = std::clamp<int64_t>((2 * workers + units - 1) / units, 1, 1 + keys / kLeastSplit);
    if (workers == 1 || units >= 2 * workers) splits = 1;
}

size_t Division::workspace() const {
    int64_t bytes = round_up((sequences + 1) * int64_t(sizeof(int64_t)), 64);
    if (splits > 1) {
        int64_t units = most_blocks * heads;
        bytes += round_up(units * int64_t(sizeof(int32_t)), 64);
        bytes +=
            round_up(units * splits * block_rows * (value_depth + 2) * int64_t(sizeof(float)), 64);
    }
    return size_t(bytes) + size_t(workers) * BlockScratch::bytes(block_rows, depth, value_depth);
}

}  // namespace infini::cpu
