// Requests of a recurrence: the tokens of each, and the locations of its old and new state.
#pragma once

#include "device/recurrence/recurrence_params.h"
#include "kernel.h"
#include "refuse.h"
#include "request_case.h"

namespace infini::cuda {

class Requests : public RequestCase {
public:
    // See RequestCase.
    template <class... Given>
    explicit Requests(const Given &...given) : RequestCase(given...) {
        if (count > 1 << 30 || tokens > 1 << 30) refuse_shape("so many tokens are not possible");
    }

    // The number of requests that the kernel processes, including tokens that belong to no request.
    int64_t groups() const { return count + (lengths ? 2 : 0); }

    void describe(Source &source) const {
        source.type("Bound", lengths ? lengths : INFINI_DTYPE_I32);
        source.type("From", from ? from : INFINI_DTYPE_I32);
        source.type("To", to ? to : INFINI_DTYPE_I32);
        source.constant("kRagged", lengths != 0).constant("kPooled", pooled());
    }
    RequestParams params(const Arguments &a) const {
        RequestParams p{};
        p.count = int32_t(count), p.tokens = int32_t(tokens), p.pool = pool;
        if (lengths) p.bounds = a.pointer<void>(bounds);
        if (pooled()) p.from = a.pointer<void>(indices), p.to = a.pointer<void>(indices + 1);
        return p;
    }
};

inline bool lies_wide(const void *pointer) {
    return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

}  // namespace infini::cuda
