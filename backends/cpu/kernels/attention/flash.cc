#include "flash.h"

#include <cmath>

namespace infini::cpu {
namespace {

constexpr int64_t kBlockRows = 64;
constexpr int64_t kDeepBlockRows = 32;  // when heads are deep, so that a block stays in the cache
constexpr double kAlone = 200e3;        // multiplications that one thread does sooner alone
constexpr int64_t kLeastSplit = 4 * kThinTile;  // keys

template <class T>
const T *query_of(const Heads &h, const Sequence &sequence, int64_t head, int64_t row) {
    return reinterpret_cast<const T *>(sequence.q) + row / h.group * h.q_token +
           (head * h.group + row % h.group) * h.q_head;
}

// Writes a result: divided by the sum of the weights, or zeros when no key was seen.
template <class T>
void write_row(const Heads &h, const Sequence &sequence, int64_t head, int64_t row, float *values,
               float sum) {
    float factor = sum == 0 ? 0 : 1 / sum;
    for (int64_t e = 0; e < h.value_depth; ++e) values[e] *= factor;
    T *out = reinterpret_cast<T *>(sequence.out) + row / h.group * h.out_token +
             (head * h.group + row % h.group) * h.out_head;
    store_strided(out, values, size_t(h.value_depth), h.out_inner);
}

int64_t keys_seen(const Heads &h, const Sequence &sequence, int64_t row) {
    if (!h.causal) return sequence.keys;
    return std::clamp<int64_t>(sequence.keys - sequence.queries + row / h.group + 1, 0,
                               sequence.keys);
}

template <class T>
void attend(const Heads &h, const Sequence &sequence, int64_t head, int64_t first, int64_t count,
            int64_t split, int64_t splits, char *memory, float *partial) {
    BlockScratch scratch;
    scratch.carve(memory, count, h.depth, h.value_depth);
    BlockRows &rows = scratch.rows;
    rows.count = count, rows.sloped = h.slopes != nullptr;
    for (int64_t r = 0; r < count; ++r) {
        rows.limit[r] = keys_seen(h, sequence, first + r);
        rows.place[r] = sequence.keys - sequence.queries + (first + r) / h.group;
        if (h.slopes)
            rows.slope[r] =
                h.slopes[(head * h.group + (first + r) % h.group) * h.slope_stride] * kLog2E;
    }
    int64_t seen = rows.limit[count - 1];  // the last row sees most
    int64_t share = round_up((seen + splits - 1) / splits, kTile);
    int64_t begin = std::min(seen, split * share), end = std::min(seen, begin + share);

    KeyRows keys = sequence.rows;
    keys.k += head * h.k_head * int64_t(sizeof(T));
    keys.v += head * h.v_head * int64_t(sizeof(T));
    const float scale = h.scale * kLog2E;
    auto load_query = [&](int64_t r, float *row) {
        load_strided(row, query_of<T>(h, sequence, head, first + r), size_t(h.depth), h.q_inner);
        for (int64_t d = 0; d < h.depth; ++d) row[d] *= scale;
    };
    auto emit = [&](int64_t r, float *row) {
        if (!partial) return write_row<T>(h, sequence, head, first + r, row, rows.sum[r]);
        float *to = partial + r * (h.value_depth + 2);
        std::memcpy(to, row, size_t(h.value_depth) * sizeof(float));
        to[h.value_depth] = rows.greatest[r], to[h.value_depth + 1] = rows.sum[r];
    };
    if (count <= kThinRows && keys.k_inner == 1 && keys.v_inner == 1) {
        thin_begin(scratch, load_query);
        thin_range<T>(scratch, keys, begin, end);
        thin_end(scratch, emit);
    } else {
        TileReader<T> read{keys, h.depth, h.value_depth};
        wide_block(scratch, begin, end, read, load_query, emit);
    }
}

// Calls f(Type<T>{}) with the type of a dtype.
template <class F>
void visit(int dtype, F &&f) {
    switch (dtype) {
        case INFINI_DTYPE_F16:
            return f(Type<f16>{});
        case INFINI_DTYPE_BF16:
            return f(Type<bf16>{});
        default:
            return f(Type<float>{});
    }
}

}  // namespace

void attend_block(const Heads &heads, const Sequence &sequence, int64_t head, int64_t first,
                  int64_t count, int64_t split, int64_t splits, char *scratch, float *partial) {
    visit(heads.dtype, [&]<class T>(Type<T>) {
        attend<T>(heads, sequence, head, first, count, split, splits, scratch, partial);
    });
}

void join_block(const Heads &heads, const Sequence &sequence, int64_t head, int64_t first,
                int64_t count, int64_t splits, int64_t partial_floats, float *partials) {
    int64_t depth = heads.value_depth;
    for (int64_t r = 0; r < count; ++r) {
        float *row = partials + r * (depth + 2);  // of the first split: the others are added to it
        float greatest = kNone, sum = 0;
        for (int64_t i = 0; i < splits; ++i)
            greatest = larger(row[i * partial_floats + depth], greatest);
        float base = reference(greatest);
        for (int64_t i = 0; i < splits; ++i) {
            const float *part = row + i * partial_floats;
            float weight = exp2_below(part[depth] - base);
            sum += part[depth + 1] * weight;
            for (int64_t e = 0; e < depth; ++e)
                row[e] = i == 0 ? part[e] * weight : fma(part[e], weight, row[e]);
        }
        visit(heads.dtype,
              [&]<class T>(Type<T>) { write_row<T>(heads, sequence, head, first + r, row, sum); });
    }
}

Division::Division(const Heads &h, int64_t sequences, int64_t rows, int64_t longest, int64_t keys)
    : sequences(sequences), heads(h.heads), depth(h.depth), value_depth(h.value_depth) {
    block_rows = std::max(h.depth, h.value_depth) > 256 ? kDeepBlockRows : kBlockRows;
    block_rows = std::clamp<int64_t>(longest, 1, block_rows);
    most_blocks = rows / block_rows + sequences;
    double work = double(rows) * double(h.heads) * double(keys) * double(h.depth + h.value_depth);
    workers = work < kAlone ? 1 : int64_t(thread_count());
    // Keys are divided only where there are too few blocks to keep all threads busy.
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
