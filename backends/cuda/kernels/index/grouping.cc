#include "kernels/index/grouping.h"

#include <algorithm>

namespace infini::cuda {
namespace {

constexpr int64_t kGroupDigitBits = 8, kGroupDigits = 256, kGroupWarps = 4;  // as in group.cuh
constexpr int64_t kFew = 8192;  // entries sorted by one block
constexpr int64_t kLeastPiece = 256, kMostGroupPieces = 2048;

}  // namespace

Grouping::Grouping(Device &device, int64_t entries, int64_t groups)
    : entries_(entries), groups_(groups) {
    if (entries >= int64_t(1) << 31 || groups >= int64_t(1) << 32)
        throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "more indices, or places for them, than 2^31"};
    for (int64_t rest = groups; rest > 0; rest >>= kGroupDigitBits) ++passes_;
    piece_ = std::max(kLeastPiece, round_up(divide_up(entries, kMostGroupPieces), device.warp));
    pieces_ = divide_up(entries, piece_);
    words_ = round_up(entries * int64_t(sizeof(uint32_t)), 256);
    counts_ = (pieces_ + 1) * kGroupDigits;
    if (entries == 0) return;
    if (entries <= kFew) {
        small_ = device.compile(Source("index/group.cuh:small"));
        counts_ = 0;
        return;
    }
    sums_ = device.compile(Source("index/group.cuh:sums"));
    count_ = device.compile(Source("index/group.cuh:count"));
    place_ = device.compile(Source("index/group.cuh:place"));
}

Error Grouping::run(const Stream &stream, char *workspace) const {
    if (entries_ == 0) return infinirtSuccess;
    if (small_) {
        const GroupSmallParams params{keys(workspace), words_ / int64_t(sizeof(uint32_t)),
                                      int32_t(entries_), int32_t(passes_)};
        return small_->launch(stream, 1, 512, params);
    }
    auto list = [&](int64_t i) { return reinterpret_cast<uint32_t *>(workspace + i * words_); };
    const unsigned threads = unsigned(kGroupWarps * stream.device.warp);
    for (int64_t pass = 0; pass < passes_; ++pass) {
        GroupParams params = {};
        params.keys = list(pass % 2), params.sorted_keys = list(1 - pass % 2);
        params.order = pass ? list(2 + pass % 2) : nullptr;
        params.sorted_order = list(3 - pass % 2);
        params.counts = list(4), params.totals = params.counts + pieces_ * kGroupDigits;
        params.entries = entries_;
        params.piece = int32_t(piece_), params.pieces = int32_t(pieces_);
        params.shift = int32_t(pass * kGroupDigitBits);
        const Grid grid(divide_up(pieces_, kGroupWarps));
        INFINI_CUDA_TRY(count_->launch(stream, grid, threads, params));
        INFINI_CUDA_TRY(sums_->launch(stream, kGroupDigits, 256, params));
        INFINI_CUDA_TRY(place_->launch(stream, grid, threads, params));
    }
    return infinirtSuccess;
}

}  // namespace infini::cuda
