// Requests of a recurrence: which tokens belong to each, where its state is read and written.
#pragma once

#include "device/recurrence/recurrence_params.h"
#include "kernel.h"

namespace infini::cuda {

class Requests {
public:
    // `bounds` is the place of cu_seqlens among the tensors (-1: the operator has none), `indices`
    // that of the first of the two index tensors.
    Requests(const Operation &op, int bounds, int indices, const Tensor &data, const Tensor &state,
             const Tensor &final_state)
        : bounds_(bounds), indices_(indices) {
        const Tensor lengths = bounds < 0 ? Tensor{} : op.tensor(bounds);
        const Tensor from = op.tensor(indices), to = op.tensor(indices + 1);
        lengths_ = lengths.dtype, from_ = from.dtype, to_ = to.dtype;
        int64_t count = data.size(0);
        if (lengths) {
            if (data.size(0) != 1 || lengths.size(0) < 1)
                throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                              "cu_seqlens needs a batch of 1 and at least one entry"};
            count = lengths.size(0) - 1;
        }
        if (bool(from) != bool(to) || bool(from) == bool(final_state))
            throw Refusal{INFINI_STATUS_BAD_PARAM,
                          "give either a final state, or both initial_state_indices and "
                          "final_state_indices"};
        if (from && (from.size(0) != count || to.size(0) != count))
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "one index is needed for each request"};
        if (!from && state.size(0) != count)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "one state is needed for each request"};
        if (count > 1 << 30 || data.size(1) > 1 << 30)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "so many tokens are not possible"};
        params_.count = int32_t(count), params_.tokens = int32_t(data.size(1));
        params_.pool = state.size(0);
    }

    bool pooled() const { return from_ != 0; }
    // What the kernel goes through, with the tokens of no request.
    int64_t groups() const { return params_.count + (lengths_ ? 2 : 0); }
    int64_t tokens() const { return params_.tokens; }

    void describe(Source &source) const {
        source.type("Bound", lengths_ ? lengths_ : INFINI_DTYPE_I32);
        source.type("From", from_ ? from_ : INFINI_DTYPE_I32);
        source.type("To", to_ ? to_ : INFINI_DTYPE_I32);
        source.constant("kRagged", lengths_ != 0).constant("kPooled", pooled());
    }
    RequestParams params(const Arguments &a) const {
        RequestParams p = params_;
        if (lengths_) p.bounds = a.pointer<void>(bounds_);
        if (pooled()) p.from = a.pointer<void>(indices_), p.to = a.pointer<void>(indices_ + 1);
        return p;
    }

private:
    int bounds_, indices_;
    int lengths_ = 0, from_ = 0, to_ = 0;  // dtypes
    RequestParams params_{};
};

inline bool lies_wide(const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

}  // namespace infini::cuda
