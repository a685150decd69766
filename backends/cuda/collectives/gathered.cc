#include "collectives/gathered.h"

#include "device/collectives/combine.cuh"
#include "runtime/vendor_call.h"

namespace infini::cuda::collectives {

static_assert(int(kCombineSum) == kSum && int(kCombineProduct) == kProduct &&
              int(kCombineMax) == kMax && int(kCombineMin) == kMin &&
              int(kCombineAverage) == kAverage);

Gathered::Gathered(const Communicator &communicator, const InfiniCollective &work)
    : device_(communicator.device),
      ranks_(communicator.ranks),
      rank_(communicator.rank),
      work_(work),
      bytes_(work.count * dtype_bytes(work.dtype)) {}

infiniStatus_t Gathered::begin() try {
    if (lost_operators(device_)) {
        refuse_operators(device_);
        return INFINI_STATUS_INTERNAL_ERROR;
    }
    note_operators(device_);
    OnDevice here(device_);
    {
        OutsideCapture outside;  // loading code is not captured
        kernel_ =
            Device::get(device_).compile(Source("collectives/combine.cuh").type("T", work_.dtype));
    }
    if (INFINI_CALL(MallocAsync, &memory_, bytes_ * size_t(ranks_), stream())) {
        memory_ = nullptr;
        return INFINI_STATUS_INTERNAL_ERROR;  // the vendor's call has set the message
    }
    return INFINI_STATUS_SUCCESS;
} catch (const Refusal &refusal) {
    return refuse(refusal.status, refusal.sentence);
}

Gathered::~Gathered() {
    OnDevice here(device_);
    if (memory_) INFINI_CALL(FreeAsync, memory_, stream());
}

int Gathered::call(Handle handle) const {
    const Functions &f = library();
    auto *memory = static_cast<char *>(memory_);
    if (work_.kind != INFINI_REDUCE_SCATTER)
        return f.AllGather(work_.send, memory, bytes_, Type::kInt8, handle, work_.stream);
    for (int other = 0; other < ranks_; ++other) {
        const char *part = static_cast<const char *>(work_.send) + bytes_ * size_t(other);
        int code = f.Send(part, bytes_, Type::kInt8, other, handle, work_.stream);
        if (code == kSuccess || code == kInProgress)
            code = f.Recv(memory + bytes_ * size_t(other), bytes_, Type::kInt8, other, handle,
                          work_.stream);
        if (code != kSuccess && code != kInProgress) return code;
    }
    return kSuccess;
}

infiniStatus_t Gathered::end() {
    if (work_.kind == INFINI_REDUCE && work_.root != rank_) return INFINI_STATUS_SUCCESS;
    OnDevice here(device_);
    Device &device = Device::get(device_);
    const CombineRanksParams params{work_.recv, memory_, int64_t(work_.count), ranks_, work_.op};
    const Grid grid(device.blocks_for(params.count, 256));
    return kernel_->launch(Stream{device, work_.stream}, grid, 256, params) == infinirtSuccess
               ? INFINI_STATUS_SUCCESS
               : INFINI_STATUS_INTERNAL_ERROR;
}

}  // namespace infini::cuda::collectives
