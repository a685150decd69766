// max_pool, avg_pool and their adaptive forms, with and without the indices of the maxima.
#include <algorithm>

#include "kernels/window/windows.h"

namespace infini::cuda {
namespace {

enum Fold { kSum, kMax, kMaxPlace };

constexpr int64_t kPoolThreads = 256, kLarge = 128;  // minimum window shared by a warp
constexpr int64_t kMostTaps = 49, kMostSpan = 32;    // of windows whose rows are held in registers

struct Pool {
    PoolParams params = {};
    bool bins = false;
    int64_t window = 1;  // elements of the largest window

    Pool(const Operation &operation, bool places) {
        params.to = image_of(operation.tensor(0));
        params.places = image_of(operation.tensor(places ? 1 : 0));
        params.from = image_of(operation.tensor(places ? 2 : 1));
        check_image_sizes(operation, params.from.size, params.to.size);
    }

    // Windows of a kernel; `mean`: for averages.
    void slide(const Operation &operation, bool mean) {
        PoolParams &p = params;
        const SlidingWindow w(operation, mean, p.from.size, p.to.size);
        p.with_padding = w.counts_padding;
        for (int d = 0; d < kImageDims; ++d) {
            p.kernel[d] = w.kernel[d], p.step[d] = w.stride[d];
            p.pad[d] = w.pad[d], p.gap[d] = w.dilation[d];
            window *= std::min(w.kernel[d], std::max<int64_t>(p.from.size[d], 1));
        }
    }

    // Bins that cover each dimension.
    void divide(const Operation &operation, int rank) {
        bins = true;
        check_output_size(operation, 0, rank, params.to.size);
        for (int d = kImageDims - rank; d < kImageDims; ++d) {
            const int64_t count = params.to.size[d], size = params.from.size[d];
            if (count > 0) window *= size / count + 1;
        }
    }

    // Leading dimensions of size 1, which windows do not extend, are not counted.
    int rank() const {
        int rank = kImageDims;
        for (int d = 0; d < kImageDims - 1; ++d, --rank)
            if (params.from.size[d] != 1 || params.to.size[d] != 1 || params.kernel[d] != 1 ||
                params.pad[d] != 0)
                break;
        return rank;
    }
    bool has_gaps() const {
        return std::any_of(params.gap, params.gap + kImageDims, [](int64_t x) { return x != 1; });
    }

    bool small() const {
        bool small = is_small(params.from) && is_small(params.to);
        for (int d = 0; d < kImageDims; ++d) {
            const int64_t reach = params.gap[d] * params.kernel[d] + params.from.size[d];
            small &= reach + params.to.size[d] * params.step[d] < int64_t(1) << 30;
        }
        return small;
    }
};

void set_pointers(PoolParams &p, const Arguments &a, Fold fold) {
    const bool places = fold == kMaxPlace;
    p.y = a.pointer<void>(0), p.found = places ? a.pointer<int64_t>(1) : nullptr;
    p.x = a.pointer<void>(places ? 2 : 1);
}

// Small sliding windows in strips: null for others.
std::unique_ptr<Plan> plan_in_strips(const Operation &operation, Device &device, const Pool &pool,
                                     Fold fold) {
    PoolParams params = pool.params;
    const int64_t *kernel = params.kernel;
    // The part of a row that a thread loads is held in registers.
    const int64_t span = (kColumns - 1) * params.step[2] + (kernel[2] - 1) * params.gap[2] + 1;
    if (pool.bins || kernel[0] > kMostSpan || kernel[1] * kernel[2] > kMostTaps || span > kMostSpan)
        return nullptr;
    Source source("window/pool.cuh:strips");
    const Tensor output = operation.tensor(0);
    const bool small = pool.small() && reaches_32_bits(params.from, params.to) &&
                       reaches_32_bits(params.from, params.places);
    source.type("T", output.dtype).type("I", index_type(small));
    source.constant("kFold", fold).constant("kRank", std::max(pool.rank(), 2));
    for (int d : {1, 2}) {
        const std::string number = std::to_string(d);
        source.constant(("kKernel" + number).c_str(), kernel[d]);
        source.constant(("kStep" + number).c_str(), params.step[d]);
        source.constant(("kGap" + number).c_str(), params.gap[d]);
    }
    const StripPlan plan = plan_strips(device, params.to, dtype_bytes(output.dtype));
    params.strips = plan.params;
    source.constant("kColumns", kColumns).constant("kLanes", plan.lanes);
    auto strips = device.compile(source.constant("kUnit", params.from.stride[2] == 1));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        PoolParams p = params;
        set_pointers(p, a, fold);
        p.strips.whole = plan.is_whole(p.y);
        return strips->launch(stream, plan.blocks, kPoolThreads, p);
    });
}

std::unique_ptr<Plan> plan_of(const Operation &operation, Device &device, const Pool &pool,
                              Fold fold) {
    const Tensor output = operation.tensor(0);
    if (output.numel() == 0) return make_empty_plan();
    if (auto plan = plan_in_strips(operation, device, pool, fold)) return plan;
    int64_t together = pool.window >= kLarge ? device.warp : 1;
    // Few outputs: several lanes for each, with at least four elements per lane.
    const int64_t threads = int64_t(device.multiprocessors) * device.threads_per_multiprocessor;
    while (!operation.batch_invariant() && together < device.warp &&
           output.numel() * together * 2 <= threads && pool.window >= together * 8)
        together *= 2;
    Source source("window/pool.cuh:windows");
    source.type("T", output.dtype).type("I", index_type(pool.small()));
    source.constant("kTogether", together).constant("kFold", fold).constant("kBins", pool.bins);
    source.constant("kRank", pool.rank()).constant("kGaps", pool.has_gaps());
    auto kernel = device.compile(source);
    const int64_t blocks = device.blocks_for(output.numel() * together, kPoolThreads, 64);
    return make_plan([=, params = pool.params](const Arguments &a, const Stream &stream) {
        PoolParams p = params;
        set_pointers(p, a, fold);
        return kernel->launch(stream, blocks, kPoolThreads, p);
    });
}

template <Fold fold>
std::unique_ptr<Plan> plan_windows(const Operation &operation, Device &device) {
    Pool pool(operation, fold == kMaxPlace);
    constexpr bool kMean = fold == kSum;
    pool.slide(operation, kMean);
    if (kMean) pool.params.divisor = operation.integer(6);
    return plan_of(operation, device, pool, fold);
}

template <Fold fold>
std::unique_ptr<Plan> plan_bins(const Operation &operation, Device &device) {
    Pool pool(operation, fold == kMaxPlace);
    pool.divide(operation, int(operation.integer(1)));
    return plan_of(operation, device, pool, fold);
}

std::unique_ptr<Plan> plan_pool(const Operation &operation, Device &device) {
    if (operation.is("max_pool")) return plan_windows<kMax>(operation, device);
    if (operation.is("max_pool_with_indices")) return plan_windows<kMaxPlace>(operation, device);
    if (operation.is("avg_pool")) return plan_windows<kSum>(operation, device);
    if (operation.is("adaptive_max_pool")) return plan_bins<kMax>(operation, device);
    if (operation.is("adaptive_max_pool_with_indices"))
        return plan_bins<kMaxPlace>(operation, device);
    return plan_bins<kSum>(operation, device);
}

INFINI_CUDA_KERNEL("pool", plan_pool);

}  // namespace
}  // namespace infini::cuda
