// Requests of a recurrence: their tokens, and where their states are read and written. Lengths and
// indices are client data: any values give results within the bounds of the tensors.
#pragma once

#include "kernel.h"
#include "request_case.h"
#include "types.h"

namespace infini::cpu {

struct Request {
    int64_t row, begin, end;  // row of the batch; range of tokens
    int64_t source, target;   // indices of states; -1: none
};

class Requests : public RequestCase {
public:
    using RequestCase::RequestCase;

    Request at(const Arguments &arguments, int64_t request) const {
        Request result = {request, 0, tokens, request, request};
        if (lengths) {
            result.row = 0;
            result.begin = bound(arguments, request, 0);
            result.end = bound(arguments, request + 1, result.begin);
        }
        if (from) {
            result.source = slot(arguments.pointer<void>(indices), from, request);
            result.target = slot(arguments.pointer<void>(indices + 1), to, request);
        }
        return result;
    }

    // Calls body(row, begin, end) for tokens that belong to no request.
    template <class Body>
    void each_gap(const Arguments &arguments, const Body &body) const {
        if (!lengths) return;
        body(int64_t(0), int64_t(0), bound(arguments, 0, 0));
        body(int64_t(0), bound(arguments, count, 0), tokens);
    }

private:
    int64_t bound(const Arguments &arguments, int64_t index, int64_t least) const {
        const int64_t value = load_as<int64_t>(lengths, arguments.pointer<void>(bounds), index);
        return value < least ? least : value > tokens ? tokens : value;
    }
    int64_t slot(const void *slots, int dtype, int64_t request) const {
        const int64_t value = load_as<int64_t>(dtype, slots, request);
        return value >= 0 && value < pool ? value : -1;
    }
};

}  // namespace infini::cpu
