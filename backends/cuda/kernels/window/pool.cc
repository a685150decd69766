// max_pool, avg_pool and their adaptive forms, with and without the indices of the maxima.
#include <algorithm>

#include "kernels/window/windows.h"

namespace infini::cuda {
namespace {

enum Fold { kSum, kMax, kMaxPlace };

constexpr int64_t kPoolThreads = 256, kLarge = 128;  // minimum window shared by a warp

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

std::unique_ptr<Plan> plan_of(const Operation &operation, Device &device, const Pool &pool,
                              Fold fold) {
    const Tensor output = operation.tensor(0);
    if (output.numel() == 0) return make_empty_plan();
    const int64_t together = pool.window >= kLarge ? device.warp : 1;
    Source source("window/pool.cuh");
    source.type("T", output.dtype).type("I", index_type(pool.small()));
    source.constant("kTogether", together).constant("kFold", fold).constant("kBins", pool.bins);
    source.constant("kRank", pool.rank()).constant("kGaps", pool.has_gaps());
    auto kernel = device.compile(source);
    const int64_t blocks = device.blocks_for(output.numel() * together, kPoolThreads, 64);
    return make_plan([=, params = pool.params](const Arguments &a, const Stream &stream) {
        PoolParams p = params;
        const bool places = fold == kMaxPlace;
        p.y = a.pointer<void>(0), p.found = places ? a.pointer<int64_t>(1) : nullptr;
        p.x = a.pointer<void>(places ? 2 : 1);
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
