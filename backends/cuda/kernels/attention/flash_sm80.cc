// Attention of many rows, with mma.sync.
#include <algorithm>

#include "attention.h"

namespace infini::cuda {
namespace {

constexpr int64_t kTilesWarps = 4, kTilesKeys = 64, kTilesPiece = 8;
constexpr int64_t kTilesLeastRange = 512;  // keys

}  // namespace

std::unique_ptr<Plan> plan_attention_tiles(const AttentionCase &c, Device &device) {
    const bool half = c.q.dtype == INFINI_DTYPE_F16 || c.q.dtype == INFINI_DTYPE_BF16;
    if (!device.has_mma || !half || c.depth > 256 || c.value_depth > 256) return nullptr;
    const int64_t depth = padded_depth(c.depth), value = padded_depth(c.value_depth);
    const int64_t stage = kTilesKeys * (depth + value + 2 * kTilesPiece);
    // Tiles of 16 rows per warp: two if their results fit into registers.
    int64_t tiles = value <= 128 && c.rows() > 64 ? 2 : 1;
    auto fits = [&] {
        const int64_t rows = 16 * kTilesWarps * tiles;
        return rows * (value + 2) <= stage &&  // results overwrite the keys
               size_t(2 * (rows * (depth + kTilesPiece) + 2 * stage)) + 4096 <= device.shared_bytes;
    };
    if (!fits()) tiles = 1;
    if (!fits()) return nullptr;
    const int64_t rows = 16 * kTilesWarps * tiles;

    Source source = c.source("attention/flash_sm80.cuh");
    source.constant("kDepth", depth).constant("kValue", value).constant("kM", tiles);
    auto kernel = device.compile(source);
    const Segments segments(c, device, rows);
    const size_t shared = size_t(2 * (rows * (depth + kTilesPiece) + 2 * stage));
    const unsigned threads = kTilesWarps * 32;
    AttentionParams fixed = c.params();
    if (!c.ragged()) {
        fixed.tiles = int32_t((c.rows() + rows - 1) / rows);
        const int64_t blocks = c.sequences * c.heads * fixed.tiles;
        const int64_t most = std::clamp<int64_t>(c.seen() / kTilesLeastRange, 1, 64);
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
