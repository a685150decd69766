// Binary elementwise functions whose loop counts depend on the data, which programs cannot express:
// maps in double with hand-written inner functions.
#pragma once

#include <algorithm>

#include "functions.h"
#include "kernel.h"
#include "program/functor.h"

namespace infini::cpu {

// Tensor 0 = compute(tensor 1, tensor 2); `cost`: operations per element.
std::unique_ptr<Plan> plan_pairs(const Operation &operation, BlockFunction compute, int cost);

// Calls f(a, b, y, n) for chunks of at most `most` elements. The buffers are padded by one vector,
// so that f may read and write whole vectors.
template <size_t most, class F>
void each_piece(const void *const *in, const ptrdiff_t *step, void *const *out, size_t n, F f) {
    constexpr size_t kRoom = most + kWidth<double>;
    alignas(64) double a[kRoom] = {}, b[kRoom] = {}, y[kRoom];
    const auto *first = static_cast<const double *>(in[0]);
    const auto *second = static_cast<const double *>(in[1]);
    if (!step[0]) std::fill_n(a, std::min(n, most), first[0]);
    if (!step[1]) std::fill_n(b, std::min(n, most), second[0]);
    for (size_t begin = 0; begin < n; begin += most) {
        const size_t count = n - begin < most ? n - begin : most;
        if (step[0]) std::memcpy(a, first + begin, count * sizeof(double));
        if (step[1]) std::memcpy(b, second + begin, count * sizeof(double));
        f(a, b, y, count);
        std::memcpy(static_cast<double *>(out[0]) + begin, y, count * sizeof(double));
    }
}

std::unique_ptr<Plan> plan_polynomial(const Operation &operation);
std::unique_ptr<Plan> plan_zeta(const Operation &operation);
std::unique_ptr<Plan> plan_incomplete_gamma(const Operation &operation);

}  // namespace infini::cpu
