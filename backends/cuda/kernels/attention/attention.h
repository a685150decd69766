// Softmax attention, in the form used by the planners of its operators.
#pragma once

#include <algorithm>

#include "device/attention/attention_params.h"
#include "kernel.h"
#include "kernels/lines.h"

namespace infini::cuda {

inline constexpr double kLog2E = 1.4426950408889634;

// The head dimension rounded up to a multiple of 16, as tensor-core kernels require.
inline int64_t padded_depth(int64_t size) { return std::max<int64_t>(16, round_up(size, 16)); }

// A case of attention. Tensors are given by their index in the operation; -1: none.
struct AttentionCase {
    Shape q, k, v, out;
    int q_at = -1, k_at = -1, v_at = -1, out_at = -1;
    AttentionStrides q_stride, k_stride, v_stride, out_stride;
    Shape table, lengths, bounds, slopes;
    int table_at = -1, lengths_at = -1, bounds_at = -1, slopes_at = -1;
    int64_t sequences = 1, heads = 1, group = 1;  // key heads, and query heads per key head
    int64_t queries = 0, tokens = 0;              // maximum per sequence, total
    int64_t keys = 0, depth = 0, value_depth = 0;
    int64_t pages = 0, page_size = 1;
    bool causal = false;
    double scale = 1, softcap = 0;  // 0: no cap
    int64_t window = 0;             // 0: none; else the case is causal
    bool tf32 = false;              // factors of F32 products may be rounded to TF32
    bool invariant = false;         // a row's bits do not depend on other rows: keys are not split

    bool paged() const { return table_at >= 0; }
    bool ragged() const { return bounds_at >= 0; }
    bool sloped() const { return slopes_at >= 0; }
    bool windowed() const { return window > 0; }
    bool capped() const { return softcap > 0; }
    int64_t rows() const { return queries * group; }  // maximum per sequence and key head
    // Maximum number of keys that the rows of a sequence see.
    int64_t seen() const { return windowed() ? std::min(keys, window + queries - 1) : keys; }

    // All parameters of a kernel except the pointers.
    AttentionParams params() const;
    // Adds the pointers of a call; the plan sets those of the workspace.
    AttentionParams params(const AttentionParams &fixed, const Arguments &arguments) const;
    // The types and constants required by sequence.cuh.
    Source source(const char *file) const;
};

// INFINI_CUDA_ATTENTION selects a kernel for comparisons, if it supports the case: "rows": any type
// and size; "tiles": mma.sync; "groups": wgmma; "dnn": the vendor's library; "own": any except
// "dnn".
std::string wished_attention();

// The best kernel for a case. `before` is run first, if it is not null.
std::unique_ptr<Plan> plan_attention_case(const AttentionCase &attention, Device &device,
                                          std::unique_ptr<Plan> before = nullptr);

// The kernels; null if the case is not supported.
std::unique_ptr<Plan> plan_attention_rows(const AttentionCase &attention, Device &device);
std::unique_ptr<Plan> plan_attention_decode(const AttentionCase &attention, Device &device);
std::unique_ptr<Plan> plan_attention_tiles(const AttentionCase &attention, Device &device);
// For large heads. `entries`: keys are entries of an e4m3 cache; its pages have one row, and its
// stride is in bytes.
std::unique_ptr<Plan> plan_mla_sm80(const AttentionCase &attention, Device &device, bool entries);
// `always`: even if another kernel is expected to be faster.
std::unique_ptr<Plan> plan_attention_groups(const AttentionCase &attention, Device &device,
                                            bool always);

// The vendor's library, for cases where it is faster; `other` handles unaligned pointers, and is
// moved from unless the result is null. `always`: even if it is not expected to be faster.
std::unique_ptr<Plan> plan_attention_dnn(const AttentionCase &attention, Device &device,
                                         std::unique_ptr<Plan> &other, bool always);

// Split-KV: the number of key ranges, chosen so that the last wave is not nearly empty. `slots`
// blocks are resident.
int64_t choose_splits(int64_t units, int64_t slots, int64_t most);
// The kernel that combines split keys. Planners request it before they query the occupancy of their
// own kernel, which waits for its compilation, so that both compile in parallel.
std::shared_ptr<const Kernel> compile_combine(const AttentionCase &attention, Device &device);
// Launches `blocks` for each range, then combines the ranges' results if there are several.
std::unique_ptr<Plan> plan_splits(const AttentionCase &attention, Device &device,
                                  std::shared_ptr<const Kernel> kernel,
                                  const AttentionParams &fixed, int64_t blocks, unsigned threads,
                                  size_t shared);

// Finds the segments of ragged queries: a separate plan, run with the bounds' pointer.
class Segments {
public:
    Segments(const AttentionCase &attention, Device &device, int64_t tile_rows);

    size_t workspace() const { return bytes_; }
    // The maximum number of tiles.
    int64_t most_tiles() const { return most_tiles_; }
    Error run(const AttentionCase &attention, const Arguments &arguments, void *workspace,
              const Stream &stream) const;

private:
    std::shared_ptr<const Kernel> kernel_;  // null: queries are not ragged
    SegmentParams params_{};
    size_t bytes_ = 0;
    int64_t most_tiles_ = 0;
};

// MLA (multi-head latent attention) on Hopper. Values are the leading elements of keys, which are
// aligned to 16 bytes. Null if TMA cannot copy them.
std::unique_ptr<Plan> plan_mla_sm90(const AttentionCase &attention, Device &device);

}  // namespace infini::cuda
