// Attention of few rows to many keys: split-KV (flash decoding). Keys are split into ranges until
// the device is full, and a second kernel combines the results.
#include <algorithm>

#include "attention.h"

namespace infini::cuda {
namespace {

constexpr int64_t kDecodeWarps = 4, kTile = 16, kDecodePiece = 8;
constexpr int64_t kDecodeLeastRange = 128;  // keys

}  // namespace

std::unique_ptr<Plan> plan_attention_decode(const AttentionCase &c, Device &device) {
    const bool half = c.q.dtype == INFINI_DTYPE_F16 || c.q.dtype == INFINI_DTYPE_BF16;
    if (!device.has_mma || !half || c.ragged() || c.rows() > 32) return nullptr;
    if (c.depth > 256 || c.value_depth > 256) return nullptr;
    const int64_t depth = padded_depth(c.depth), value = padded_depth(c.value_depth);
    const int64_t tiles = c.rows() > 16 ? 2 : 1, rows = 16 * tiles;
    if (tiles == 2 && value > 128) return nullptr;  // results would not fit into registers
    const int64_t stage = kTile * (depth + value + 2 * kDecodePiece);
    auto bytes = [&](int64_t stages) {
        return size_t(2 * (kDecodeWarps * stages * stage + rows * (depth + kDecodePiece)));
    };
    int64_t stages = depth + value <= 192 ? 4 : 3;
    while (stages > 2 && bytes(stages) + 2048 > device.shared_bytes) --stages;
    if (bytes(stages) + 2048 > device.shared_bytes || rows * value * 2 > stages * stage)
        return nullptr;

    Source source = c.source("attention/decode.cuh");
    source.constant("kDepth", depth).constant("kValue", value);
    source.constant("kM", tiles).constant("kStages", stages);
    auto kernel = device.compile(source);
    const unsigned threads = kDecodeWarps * 32;
    const size_t shared = bytes(stages);
    const int64_t units = c.sequences * c.heads;
    const int64_t most = std::clamp<int64_t>(c.seen() / kDecodeLeastRange, 1, 128);
    if (most > 1) compile_combine(c, device);
    const int64_t slots =
        int64_t(device.multiprocessors) * kernel->resident_blocks(threads, shared);
    AttentionParams fixed = c.params();
    fixed.splits = int32_t(choose_splits(units, slots, most));
    return plan_splits(c, device, kernel, fixed, units, threads, shared);
}

}  // namespace infini::cuda
