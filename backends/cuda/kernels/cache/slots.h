// If several tokens have the same slot of a cache, the last one is stored. With few tokens, each
// searches the later ones; with many, the last token of each slot is found first.
#pragma once

#include "device/cache/slots.cuh"
#include "kernels/dims.h"

namespace infini::cuda {

class Slots {
public:
    static constexpr int64_t kMostSearched = 2048;  // tokens

    Slots(Device &device, const Tensor &slots, int64_t count) {
        params_.stride = slots.stride(0), params_.tokens = slots.size(0), params_.count = count;
        if (params_.tokens <= kMostSearched) return;
        if (params_.tokens >= int64_t(1) << 31)
            throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "more than 2^31 tokens"};
        clear_ = device.compile(Source("cache/slots.cuh:last").constant("kClear", true));
        raise_ = device.compile(Source("cache/slots.cuh:last").constant("kClear", false));
    }
    size_t workspace() const { return clear_ ? size_t(params_.count) * sizeof(int32_t) : 0; }
    int64_t tokens() const { return params_.tokens; }

    // Sets the kernel's parameters, and finds the last tokens first if necessary.
    Error find(const Stream &stream, const void *slots, char *workspace,
               SlotsParams &result) const {
        result = params_;
        result.slots = static_cast<const int64_t *>(slots);
        if (!clear_) return infinirtSuccess;
        result.last = reinterpret_cast<int32_t *>(workspace);
        const Grid grid(divide_up(result.tokens, 256));
        INFINI_CUDA_TRY(clear_->launch(stream, grid, 256, result));
        return raise_->launch(stream, grid, 256, result);
    }

private:
    SlotsParams params_ = {};
    std::shared_ptr<const Kernel> clear_, raise_;
};

}  // namespace infini::cuda
