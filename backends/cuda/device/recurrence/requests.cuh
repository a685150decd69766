// Requests of a recurrence. Accesses stay within the tensors for any lengths and indices.
//
// Requires types Bound, From, To; constants kRagged, kPooled.
#pragma once

#include "recurrence_params.h"

namespace infini {

struct Request {
    int64_t row;             // in the batch
    int begin, end;          // tokens
    int64_t source, target;  // indices of states; -1: none
};

// The number of requests to process; for ragged ones, also the tokens before the first and after
// the last.
INFINI_DEVICE int request_count(const RequestParams &p) { return p.count + (kRagged ? 2 : 0); }

template <class I>
INFINI_DEVICE int64_t state_slot(const void *indices, int request, int64_t pool) {
    const I value = static_cast<const I *>(indices)[request];
    if constexpr (kIsSigned<I>)
        if (value < I(0)) return -1;
    return uint64_t(value) < uint64_t(pool) ? int64_t(value) : -1;
}

INFINI_DEVICE int token_bound(const RequestParams &p, int index, int least) {
    const Bound value = static_cast<const Bound *>(p.bounds)[index];
    if constexpr (kIsSigned<Bound>)
        if (value < Bound(0)) return least;
    const int bound = uint64_t(value) > uint64_t(p.tokens) ? p.tokens : int(value);
    return bound < least ? least : bound;
}

// Requests without a state to read give zeros, and so do tokens that belong to no request.
INFINI_DEVICE Request find_request(const RequestParams &p, int index) {
    Request r = {index, 0, p.tokens, index, index};
    if constexpr (kRagged) {
        r.row = 0;
        if (index >= p.count) {
            r.source = r.target = -1;
            if (index == p.count)
                r.end = token_bound(p, 0, 0);
            else
                r.begin = token_bound(p, p.count, 0);
            return r;
        }
        r.begin = token_bound(p, index, 0);
        r.end = token_bound(p, index + 1, r.begin);
    }
    if constexpr (kPooled) {
        r.source = state_slot<From>(p.from, index, p.pool);
        r.target = state_slot<To>(p.to, index, p.pool);
    }
    return r;
}

}  // namespace infini
