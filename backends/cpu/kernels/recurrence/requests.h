// Requests of a recurrence: which tokens belong to each, where its state is read and where it is
// written. Lengths and indices are data of the client's: whatever they are, all that comes out lies
// inside the tensors.
#pragma once

#include "kernel.h"
#include "types.h"

namespace infini::cpu {

struct Request {
    int64_t row, begin, end;  // of the batch; tokens
    int64_t source, target;   // in the states; -1: none
};

class Requests {
public:
    int64_t count = 0, batch = 0, tokens = 0;

    // `first` is the place of cu_seqlens among the tensors (-1: the operator has none), the two
    // index tensors follow it.
    Requests(const Operation &op, int first, int indices, const Tensor &data, const Tensor &state,
             const Tensor &final_state)
        : batch(data.size(0)),
          tokens(data.size(1)),
          pool_(state.size(0)),
          first_(first),
          indices_(indices) {
        const Tensor lengths = first < 0 ? Tensor{} : op.tensor(first);
        const Tensor from = op.tensor(indices), to = op.tensor(indices + 1);
        lengths_ = lengths.dtype, from_ = from.dtype, to_ = to.dtype;
        count = batch;
        if (lengths) {
            if (batch != 1 || lengths.size(0) < 1)
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
        if (!from && pool_ != count)
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "one state is needed for each request"};
    }

    bool pooled() const { return from_ != 0; }

    Request at(const Arguments &arguments, int64_t request) const {
        Request result = {request, 0, tokens, request, request};
        if (lengths_) {
            result.row = 0;
            result.begin = bound(arguments, request, 0);
            result.end = bound(arguments, request + 1, result.begin);
        }
        if (from_) {
            result.source = slot(arguments.pointer<void>(indices_), from_, request);
            result.target = slot(arguments.pointer<void>(indices_ + 1), to_, request);
        }
        return result;
    }

    // Calls body(row, begin, end) for tokens that no request has.
    template <class Body>
    void each_gap(const Arguments &arguments, const Body &body) const {
        if (!lengths_) return;
        body(int64_t(0), int64_t(0), bound(arguments, 0, 0));
        body(int64_t(0), bound(arguments, count, 0), tokens);
    }

private:
    int64_t bound(const Arguments &arguments, int64_t index, int64_t least) const {
        const int64_t value = load_as<int64_t>(lengths_, arguments.pointer<void>(first_), index);
        return value < least ? least : value > tokens ? tokens : value;
    }
    int64_t slot(const void *indices, int dtype, int64_t request) const {
        const int64_t value = load_as<int64_t>(dtype, indices, request);
        return value >= 0 && value < pool_ ? value : -1;
    }

    int64_t pool_;
    int first_, indices_;
    int lengths_ = 0, from_ = 0, to_ = 0;  // dtypes
};

}  // namespace infini::cpu
