// max_pool, avg_pool and their adaptive forms, with and without the places of what they found.
#include <algorithm>

#include "kernels/window/windows.h"

namespace infini::cuda {
namespace {

enum Fold { kSum, kMax, kMaxPlace };

constexpr int64_t kPoolThreads = 256, kLarge = 128;  // elements of a window that a warp shares

struct Pool {
    PoolParams params = {};
    bool bins = false;
    int64_t window = 1;  // elements of the largest one

    Pool(const Operation &operation, bool places) {
        params.to = image_of(operation.tensor(0));
        params.places = image_of(operation.tensor(places ? 1 : 0));
        params.from = image_of(operation.tensor(places ? 2 : 1));
        for (int d = 0; d < kImageDims; ++d)
            if (params.from.size[d] > kMostWindow || params.to.size[d] > kMostOutputs)
                throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                              std::string(operation.name()) + ": the image is too large"};
    }

    // Windows of a kernel; `mean`: that of a sum.
    void slide(const Operation &operation, int rank, bool mean) {
        PoolParams &p = params;
        read_list(operation, 0, rank, 1, "kernel_size", p.kernel);
        if (!read_list(operation, 1, rank, 1, "stride", p.step))
            std::copy(p.kernel, p.kernel + kImageDims, p.step);
        read_list(operation, 2, rank, 0, "padding", p.pad);
        if (!mean) read_list(operation, 3, rank, 1, "dilation", p.gap);
        const bool ceil = operation.integer(mean ? 4 : 5) != 0;
        p.with_padding = mean && operation.integer(5) != 0;
        for (int d = 0; d < kImageDims; ++d) {
            const int64_t size = p.from.size[d], kernel = p.kernel[d], step = p.step[d];
            const int64_t pad = p.pad[d], reach = p.gap[d] * (kernel - 1) + 1;
            const int64_t room = size + 2 * pad - reach;
            if (2 * pad > reach)
                throw Refusal{
                    INFINI_STATUS_BAD_PARAM,
                    std::string(operation.name()) + ": a padding of more than half the window"};
            int64_t last = room >= 0 ? room / step : -1;
            if (ceil && room + step - 1 >= 0 && size + pad > 0)
                last = std::min((room + step - 1) / step, (size + pad - 1) / step);
            if (last < 0)
                throw Refusal{INFINI_STATUS_BAD_PARAM,
                              std::string(operation.name()) + ": a window of " +
                                  std::to_string(reach) + " elements does not fit into " +
                                  std::to_string(size) + " with a padding of " +
                                  std::to_string(pad)};
            if (p.to.size[d] != last + 1)
                refuse_size(operation, d - (kImageDims - rank), p.to.size[d], last + 1);
            window *= std::min(kernel, std::max<int64_t>(size, 1));
        }
    }

    // Bins that cover each dimension.
    void divide(const Operation &operation, int rank) {
        bins = true;
        int64_t wanted[kImageDims] = {1, 1, 1};
        read_list(operation, 0, rank, 0, "output_size", wanted);
        for (int d = kImageDims - rank; d < kImageDims; ++d) {
            const int64_t count = params.to.size[d], size = params.from.size[d];
            if (count != wanted[d])
                refuse_size(operation, d - (kImageDims - rank), count, wanted[d]);
            if (count > 0) window *= size / count + 1;
        }
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
    pool.slide(operation, int(operation.integer(kMean ? 3 : 4)), kMean);
    if (kMean) pool.params.divisor = operation.integer(6);
    return plan_of(operation, device, pool, fold);
}

template <Fold fold>
std::unique_ptr<Plan> plan_bins(const Operation &operation, Device &device) {
    Pool pool(operation, fold == kMaxPlace);
    pool.divide(operation, int(operation.integer(1)));
    return plan_of(operation, device, pool, fold);
}

INFINI_CUDA_KERNEL("max_pool", plan_windows<kMax>);
INFINI_CUDA_KERNEL("max_pool_with_indices", plan_windows<kMaxPlace>);
INFINI_CUDA_KERNEL("avg_pool", plan_windows<kSum>);
INFINI_CUDA_KERNEL("adaptive_avg_pool", plan_bins<kSum>);
INFINI_CUDA_KERNEL("adaptive_max_pool", plan_bins<kMax>);
INFINI_CUDA_KERNEL("adaptive_max_pool_with_indices", plan_bins<kMaxPlace>);

}  // namespace
}  // namespace infini::cuda
