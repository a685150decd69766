// Functions of two numbers whose loops end by themselves: maps as programs are, in doubles, with
// code of their own.
#pragma once

#include <algorithm>

#include "functions.h"
#include "kernel.h"
#include "program/functor.h"

namespace infini::cpu {

// The result of tensors 1 and 2 goes into tensor 0; `cost` is that of an element, in operations.
std::unique_ptr<Plan> plan_pairs(const Operation &operation, BlockFunction compute, int cost);

// Operands of a block, in pieces: f(a, b, y, n) for at most `most` elements, which are followed by
// a vector of others.
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

// By operator.
std::unique_ptr<Plan> plan_polynomial(const Operation &operation);
std::unique_ptr<Plan> plan_zeta(const Operation &operation);
std::unique_ptr<Plan> plan_incomplete_gamma(const Operation &operation);

}  // namespace infini::cpu
