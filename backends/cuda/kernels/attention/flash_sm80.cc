// Attention with mma.sync: of many rows, and in F32 also of few.
#include <algorithm>

#include "attention.h"

namespace infini::cuda {
namespace {

constexpr int64_t kWarps = 4;

// The tiles of a kernel: kM times 16 rows per warp, and keys.
struct Tiles {
    int64_t warps = kWarps, m = 1, keys = 64;
    int64_t depth, value;  // padded
    size_t element;

    int64_t rows() const { return 16 * warps * m; }
    // Bytes of the queries, and of two stages of keys and values. Rows are padded by 16 bytes.
    size_t bytes() const { return size_t(rows()) * (depth * element + 16) + 2 * stage(); }
    size_t stage() const { return size_t(keys) * ((depth + value) * element + 32); }

    bool fit(const Device &device) const {
        return size_t(rows() * (value + 2)) * 4 <= 2 * stage() &&  // results overwrite the keys
               bytes() + 4096 <= device.shared_bytes;
    }

    // False: the case is not supported.
    bool choose(const AttentionCase &c, const Device &device) {
        const bool whole = c.q.dtype == INFINI_DTYPE_F32;
        element = dtype_bytes(c.q.dtype);
        depth = padded_depth(c.depth);
        value =
            whole ? round_up(std::max<int64_t>(c.value_depth, 1), 32) : padded_depth(c.value_depth);
        if (!whole) {
            // Two tiles of rows if their results fit into registers.
            m = value <= 128 && c.rows() > 64 ? 2 : 1;
        } else {
            keys = 32;
            if (!c.invariant && c.rows() <= 16 * kWarps / 2) warps = c.rows() <= 16 ? 1 : 2;
            if (warps == 1) keys = 16;  // more blocks fit, and fetch
            // Two if the device is still full: they share the splitting of keys and values.
            const int64_t blocks = c.sequences * c.heads * ((c.rows() + 127) / 128);
            m = std::max(depth, value) <= 96 && c.rows() > 64 && blocks > device.multiprocessors
                    ? 2
                    : 1;
        }
        if (!fit(device)) m = 1;
        if (!fit(device) && whole) keys = 16;
        return fit(device);
    }
};

}  // namespace

std::unique_ptr<Plan> plan_attention_tiles(const AttentionCase &c, Device &device) {
    const bool half = c.q.dtype == INFINI_DTYPE_F16 || c.q.dtype == INFINI_DTYPE_BF16;
    if (!device.has_mma || (!half && c.q.dtype != INFINI_DTYPE_F32) || c.depth > 256 ||
        c.value_depth > 256)
        return nullptr;
    Tiles tiles;
    if (!tiles.choose(c, device)) return nullptr;
    const int64_t rows = tiles.rows();

    Source source = c.source(half ? "attention/flash_sm80.cuh" : "attention/flash_tf32.cuh");
    source.constant("kDepth", tiles.depth).constant("kValue", tiles.value);
    source.constant("kM", tiles.m).constant("kWarps", tiles.warps).constant("kKeys", tiles.keys);
    if (!half) source.constant("kPlain", c.tf32);
    auto kernel = device.compile(source);
    const Segments segments(c, device, rows);
    const size_t shared = tiles.bytes();
    const unsigned threads = unsigned(tiles.warps * 32);
    AttentionParams fixed = c.params();
    if (!c.ragged()) {
        fixed.tiles = int32_t((c.rows() + rows - 1) / rows);
        const int64_t blocks = c.sequences * c.heads * fixed.tiles;
        // Keys of a range: fewer if each block only has few rows.
        const int64_t least = tiles.warps == 1 ? 128 : 512;
        const int64_t most = std::clamp<int64_t>(c.seen() / least, 1, 64);
        if (most > 1 && blocks <= device.multiprocessors && !c.invariant)
            compile_combine(c, device);
        const int64_t slots =
            int64_t(device.multiprocessors) * kernel->resident_blocks(threads, shared);
        // Split-KV costs a second pass over the results, so it is used only if much of the device
        // would be idle.
        const bool whole = c.invariant || blocks * 2 > slots;
        fixed.splits = int32_t(whole ? 1 : choose_splits(blocks, slots, most));
        return plan_splits(c, device, kernel, fixed, blocks, threads, shared);
    }
    fixed.tiles = int32_t(segments.most_tiles());
    const int64_t blocks = c.heads * fixed.tiles;
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            AttentionParams p = c.params(fixed, a);
            p.segments = reinterpret_cast<const int32_t *>(a.workspace());
            const Error error = segments.run(c, a, a.workspace(), stream);
            if (error != infinirtSuccess) return error;
            return kernel->launch(stream, blocks, threads, p, shared);
        },
        segments.workspace());
}

}  // namespace infini::cuda
