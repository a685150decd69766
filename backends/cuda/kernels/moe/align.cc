// Groups (token, choice) pairs by expert: moe_align and prepare_moe_input.
#include "device/moe/align.cuh"

#include <algorithm>

#include "kernels/index/grouping.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

// Sorts the pairs of a run. The groups are the experts, preceded if `padded` by a group for pairs
// without an expert.
class Pairs {
public:
    Pairs(Device &device, int64_t pairs, int64_t experts, bool padded)
        : pairs_(pairs), experts_(experts), groups_(experts + padded) {
        if (pairs > INT32_MAX) refuse_shape("more pairs than a 32-bit number counts");
        grouping_ = Grouping(device, pairs, groups_);
        first_ = GroupFirst(device);
        keys_ = device.compile(Source("moe/align.cuh:keys").constant("kPadded", padded));
    }
    int64_t groups() const { return groups_; }
    size_t first_bytes() const { return size_t(round_up((groups_ + 1) * 4, 256)); }
    size_t workspace() const { return first_bytes() + grouping_.workspace(); }
    uint32_t *first(char *workspace) const { return reinterpret_cast<uint32_t *>(workspace); }
    const uint32_t *order(char *workspace) const {
        return grouping_.order(workspace + first_bytes());
    }

    Error run(const Stream &stream, const int32_t *ids, const int32_t *map, char *workspace) const {
        char *room = workspace + first_bytes();
        const AlignKeysParams params{ids, map, grouping_.keys(room), pairs_, experts_};
        INFINI_CUDA_TRY(keys_->launch(stream, divide_up(pairs_, 256), 256, params));
        INFINI_CUDA_TRY(grouping_.run(stream, room));
        return first_.run(stream, grouping_.sorted(room), pairs_, groups_, first(workspace));
    }

private:
    int64_t pairs_, experts_, groups_;
    Grouping grouping_;
    GroupFirst first_;
    std::shared_ptr<const Kernel> keys_;
};

constexpr int64_t kFewPairs = 16384, kFewGroups = 512;  // as in align.cuh

std::unique_ptr<Plan> plan_small_align(AlignSmallParams params, int64_t block, Device &device) {
    params.block = Divider(uint32_t(block));
    const auto kernel = device.compile(Source("moe/align.cuh:small"));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        AlignSmallParams here = params;
        here.sorted = a.pointer<int32_t>(0), here.labels = a.pointer<int32_t>(1);
        here.total = a.pointer<int32_t>(2);
        here.ids = a.pointer<const int32_t>(3), here.map = a.pointer<const int32_t>(4);
        return kernel->launch(stream, 1, 512, here);
    });
}

std::unique_ptr<Plan> plan_moe_align(const Operation &operation, Device &device) {
    const int64_t capacity = operation.tensor(0).numel(), blocks = operation.tensor(1).numel();
    const int64_t pairs = operation.tensor(3).numel();
    const int64_t experts = operation.integer(0), block = operation.integer(1);
    int64_t needed = 0;
    if (__builtin_mul_overflow(std::min(pairs, experts + 1), block - 1, &needed) ||
        __builtin_add_overflow(needed, pairs, &needed) || capacity < needed)
        refuse_shape("sorted_token_ids is too short for all blocks of all experts");
    if (blocks < divide_up(needed, block)) refuse_shape("expert_ids is too short for all blocks");
    if (pairs <= kFewPairs && experts < kFewGroups && capacity < INT32_MAX / 2 &&
        blocks < INT32_MAX / 2)
        return plan_small_align({nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 int32_t(pairs),
                                 int32_t(experts),
                                 int32_t(capacity),
                                 int32_t(blocks),
                                 {}},
                                block, device);
    const Pairs grouped(device, pairs, experts, true);
    const RunningSum sum(device, sizeof(uint32_t));
    const auto sizes = device.compile(Source("moe/align.cuh:sizes"));
    const auto align = device.compile(Source("moe/align.cuh:align"));
    AlignParams params = {};
    params.pairs = pairs, params.groups = grouped.groups(), params.block = block;
    params.capacity = capacity, params.blocks = blocks;
    auto run = [=](const Arguments &a, const Stream &stream) {
        AlignParams here = params;
        here.sorted = a.pointer<int32_t>(0), here.labels = a.pointer<int32_t>(1);
        here.starts = reinterpret_cast<uint32_t *>(a.workspace());
        char *room = a.workspace() + grouped.first_bytes();
        INFINI_CUDA_TRY(
            grouped.run(stream, a.pointer<const int32_t>(3), a.pointer<const int32_t>(4), room));
        here.first = grouped.first(room), here.order = grouped.order(room);
        INFINI_CUDA_TRY(sizes->launch(stream, divide_up(here.groups, 256), 256, here));
        uint32_t *total = a.pointer<uint32_t>(2);
        INFINI_CUDA_TRY(sum.run(stream, here.starts, here.groups, total));
        here.total = total;
        return align->launch(stream, divide_up(std::max(capacity, blocks), 256), 256, here);
    };
    return make_plan(run, grouped.first_bytes() + grouped.workspace());
}

std::unique_ptr<Plan> plan_prepare_moe_input(const Operation &operation, Device &device) {
    const bool blockscales = bool(operation.tensor(1));
    const Tensor topk = operation.tensor(6);
    PrepareParams params = {};
    params.pairs = topk.numel();
    params.experts = operation.integer(0), params.n = operation.integer(1);
    params.k = operation.integer(2);
    const Pairs grouped(device, params.pairs, params.experts, false);
    params.choices = Divider(uint32_t(std::max<int64_t>(topk.size(1), 1)));
    const RunningSum sum(device, sizeof(uint32_t));
    const auto prepare = device.compile(Source("moe/align.cuh:prepare"));
    auto run = [=](const Arguments &a, const Stream &stream) {
        PrepareParams here = params;
        INFINI_CUDA_TRY(grouped.run(stream, a.pointer<const int32_t>(6), nullptr, a.workspace()));
        here.first = grouped.first(a.workspace()), here.order = grouped.order(a.workspace());
        here.offsets = a.pointer<int32_t>(0);
        here.scales = blockscales ? a.pointer<int32_t>(1) : nullptr;
        here.sizes1 = a.pointer<int32_t>(2), here.sizes2 = a.pointer<int32_t>(3);
        here.token = a.pointer<int32_t>(4), here.place = a.pointer<int32_t>(5);
        const int64_t threads = std::max(here.pairs, here.experts + 1);
        INFINI_CUDA_TRY(prepare->launch(stream, divide_up(threads, 256), 256, here));
        if (!here.scales) return infinirtSuccess;
        return sum.run(stream, here.scales, here.experts, here.scales + here.experts);
    };
    return make_plan(run, grouped.workspace());
}

std::unique_ptr<Plan> plan_align(const Operation &operation, Device &device) {
    return operation.is("prepare_moe_input") ? plan_prepare_moe_input(operation, device)
                                             : plan_moe_align(operation, device);
}

INFINI_CUDA_KERNEL("moe_align", plan_align);

}  // namespace
}  // namespace infini::cuda
