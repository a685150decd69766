/* Requests of a recurrence as planners see them: their number, and the tensors that give their
 * tokens and states. For back ends written in C++. Header only. */
#ifndef INFINI_REQUEST_CASE_H
#define INFINI_REQUEST_CASE_H

#include "refuse.h"

namespace infini {

struct RequestCase {
    int64_t count, batch, tokens;
    int64_t pool;         // states
    int bounds, indices;  // tensors: cu_seqlens (-1: none), and the first of two of indices
    int lengths = 0, from = 0, to = 0;  // their dtypes; 0: absent

    // `data` is [batch, tokens, ...]. The two index tensors are consecutive.
    RequestCase(const Operation &operation, int bounds, int indices, const Tensor &data,
                const Tensor &state, const Tensor &final_state)
        : count(data.size(0)),
          batch(data.size(0)),
          tokens(data.size(1)),
          pool(state.size(0)),
          bounds(bounds),
          indices(indices) {
        const Tensor ends = bounds < 0 ? Tensor{} : operation.tensor(bounds);
        const Tensor sources = operation.tensor(indices), targets = operation.tensor(indices + 1);
        lengths = ends.dtype, from = sources.dtype, to = targets.dtype;
        if (ends) {
            if (batch != 1 || ends.size(0) < 1)
                refuse_shape("cu_seqlens needs a batch of 1 and at least one entry");
            count = ends.size(0) - 1;
        }
        if (bool(sources) != bool(targets) || bool(sources) == bool(final_state))
            refuse_parameter(
                "give either a final state, or both initial_state_indices and final_state_indices");
        if (sources && (sources.size(0) != count || targets.size(0) != count))
            refuse_shape("one index is needed for each request");
        if (!sources && pool != count) refuse_shape("one state is needed for each request");
    }

    bool pooled() const { return from != 0; }
};

}  // namespace infini
#endif
