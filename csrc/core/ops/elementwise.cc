// Gated activations that take several elementwise operators.
#include "infinicore/ops/situ_and_mul.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

// beta * tanh(gate / beta) * sigmoid(gate) * linear_beta * tanh(up / linear_beta)
void situ_and_mul_(Tensor out, const Tensor &gate, const Tensor &up, float beta,
                   float linear_beta) {
    need_tensors("situ_and_mul_", {{"out", out}, {"gate", gate}, {"up", up}});
    const auto scaled = [](const Tensor &x, double factor) {
        return make("mul_scalar", {x}, {}, {number(factor)});
    };
    const auto bounded = [&](const Tensor &x, double bound) {
        return scaled(make("tanh", {scaled(x, 1 / bound)}), bound);
    };
    const Tensor wide = at_least_f32(gate), linear = at_least_f32(up);
    const Tensor open = make("mul", {bounded(wide, beta), make("sigmoid", {wide})});
    store("situ_and_mul_", "out", out, make("mul", {open, bounded(linear, linear_beta)}));
}

Tensor situ_and_mul(const Tensor &gate, const Tensor &up, float beta, float linear_beta) {
    INFINI_NEED_TENSORS(gate, up);
    Tensor out = empty_like(gate, gate->shape());
    situ_and_mul_(out, gate, up, beta, linear_beta);
    return out;
}

}  // namespace infinicore::op
